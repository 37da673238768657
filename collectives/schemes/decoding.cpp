// Decode, operate, encode: C-Coll (Huang et al., IPDPS 2024), and CPRP2P, which it is compared with there.
// Any codec, any operation.
//
// A partial result that is sent and used further here, too, is replaced by what the message says, and so is a
// result that travels: all ranks then compute with the same values and end with the same bits.
#include "collectives/operate.hpp"
#include "collectives/schemes/schemes.hpp"

namespace homz {
namespace {

class Decoding final : public Handling {
 public:
  Decoding(const Reduction& reduction, Coder coder, bool every_hop)
      : reduction_(reduction), coder_(std::move(coder)), every_hop_(every_hop) {}

  std::uint64_t capacity(std::uint64_t) const override { return coder_.capacity(); }

  Result<BlockPtr> contribute(Piece& piece, bool again) override {
    HOMZ_ASSIGN(BlockPtr message, coder_.encode(own(piece)));
    if (again) {
      if (!piece.values) piece.values = coder_.block_of(piece.bytes);
      HOMZ_TRY(coder_.decode(*message, piece.values->payload()));
    } else {
      piece.values.reset();
    }
    return message;
  }

  Status join(Piece& piece, BlockPtr received, bool is_lower, Next) override {
    const BlockPtr theirs = coder_.block_of(piece.bytes);
    HOMZ_TRY(coder_.decode(*received, theirs->payload()));
    const ConstBytes mine = own(piece);
    operate(reduction_.op, reduction_.dtype, is_lower ? ConstBytes(theirs->payload()) : mine,
            is_lower ? mine : ConstBytes(theirs->payload()), theirs->payload());
    piece.values = theirs;
    return Status();
  }

  Status complete(Piece& piece, bool travels) override {
    if (reduction_.op == ReduceOp::average) {
      if (!piece.values) piece.values = coder_.raw_block(piece.in);
      divide(reduction_.dtype, piece.values->payload(), reduction_.ranks);
    }
    if (!travels) return Status();
    HOMZ_ASSIGN(piece.held, coder_.encode(own(piece)));
    piece.values.reset();
    return Status();
  }

  Result<BlockPtr> deliver(Piece& piece) override {
    if (!piece.values) return piece.held;
    return coder_.encode(piece.values->payload());  // cprp2p, of what was taken
  }

  Status take(Piece& piece, BlockPtr received, bool passed_on) override {
    piece.values.reset();
    piece.held.reset();
    if (!passed_on || !every_hop_) {
      piece.held = std::move(received);
      return Status();
    }
    piece.values = coder_.block_of(piece.bytes);
    return coder_.decode(*received, piece.values->payload());
  }

  Status write(Piece& piece) override {
    if (piece.held) return coder_.decode(*piece.held, piece.out);
    const ConstBytes result = own(piece);
    if (result.data() != piece.out.data()) copy_values(result, piece.out);
    return Status();
  }

  Times times() const override { return coder_.times; }

 private:
  ConstBytes own(const Piece& piece) const {
    return piece.values ? ConstBytes(piece.values->payload()) : piece.in;
  }

  Reduction reduction_;
  Coder coder_;
  bool every_hop_;
};

}  // namespace

std::unique_ptr<Handling> decoding_handling(const Reduction& reduction, Coder coder, bool every_hop) {
  return std::make_unique<Decoding>(reduction, std::move(coder), every_hop);
}

}  // namespace homz
