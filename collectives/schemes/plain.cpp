// Values travel as they are. A partial result lives in the block that the last contribution came in, so that
// it goes on without being copied.
#include "collectives/schemes/schemes.hpp"
#include "core/checksum.hpp"

namespace homz {
namespace {

class Plain final : public Handling {
 public:
  Plain(const Reduction& reduction, Processor& processor, BlockPool& pool, bool checksums)
      : reduction_(reduction), processor_(processor), pool_(pool), checksums_(checksums) {}

  std::uint64_t capacity(std::uint64_t piece_bytes) const override { return capacity_ = piece_bytes; }
  Home home() const override { return processor_.home(); }

  Result<BlockPtr> contribute(Piece& piece, bool again) override {
    HOMZ_TRY(own(piece));
    BlockPtr message = sealed(piece.held);
    if (!again) piece.held.reset();
    return message;
  }

  Status join(Piece& piece, BlockPtr received, bool is_lower, Next) override {
    HOMZ_TRY(check(piece, *received));
    const ConstBytes mine = piece.held ? ConstBytes(piece.held->payload()) : piece.in;
    const Bytes theirs = received->payload();
    HOMZ_TRY(done(processor_.operate(reduction_.op, reduction_.dtype, is_lower ? theirs : mine,
                                     is_lower ? mine : theirs, theirs)));
    received->is_sealed = false;
    received->frame.has_checksum = false;
    piece.held = std::move(received);
    return Status();
  }

  Status complete(Piece& piece, bool) override {
    if (reduction_.op != ReduceOp::average) return Status();
    HOMZ_TRY(own(piece));
    return done(processor_.divide(reduction_.dtype, piece.held->payload(), reduction_.ranks));
  }

  Result<BlockPtr> deliver(Piece& piece) override {
    HOMZ_TRY(own(piece));
    return sealed(piece.held);
  }

  Status take(Piece& piece, BlockPtr received, bool) override {
    HOMZ_TRY(check(piece, *received));
    piece.held = std::move(received);
    return Status();
  }

  Status write(Piece& piece) override {
    const ConstBytes result = piece.held ? ConstBytes(piece.held->payload()) : piece.in;
    return result.data() == piece.out.data() ? Status() : done(processor_.copy(result, piece.out));
  }

 private:
  // On a GPU, too, each step ends before the next one: what is sent is there.
  Status done(Status enqueued) {
    HOMZ_TRY(enqueued);
    return processor_.settle();
  }

  // What this rank has of the piece, in a block.
  Status own(Piece& piece) {
    if (piece.held) return Status();
    HOMZ_ASSIGN(piece.held, pool_.take(capacity_, home()));
    piece.held->frame.payload_bytes = static_cast<std::uint32_t>(piece.in.size());
    return done(processor_.copy(piece.in, piece.held->room()));
  }

  BlockPtr sealed(const BlockPtr& block) const {
    if (checksums_ && !block->is_sealed && block->home() != Home::device) {
      block->frame.has_checksum = true;
      block->frame.payload_checksum = checksum(block->payload());
    }
    return block;
  }

  static Status check(const Piece& piece, const Block& block) {
    if (block.frame.content == Content::raw && block.frame.payload_bytes == piece.bytes) return Status();
    return Status(Code::corrupt_stream, "a message of another length than that of its values");
  }

  Reduction reduction_;
  Processor& processor_;
  BlockPool& pool_;
  bool checksums_;
  mutable std::uint64_t capacity_ = 0;
};

}  // namespace

std::unique_ptr<Handling> plain_handling(const Reduction& reduction, Processor& processor, BlockPool& pool,
                                         bool checksums) {
  return std::make_unique<Plain>(reduction, processor, pool, checksums);
}

}  // namespace homz
