// Decode, operate, encode: C-Coll (Huang et al., IPDPS 2024), and CPRP2P, which it is compared with there.
// Any codec, any operation.
//
// A partial result that is sent and used further here, too, is replaced by what the message says, and so is a
// result that travels: all ranks then compute with the same values and end with the same bits.
#include "collectives/schemes/schemes.hpp"

namespace homz {
namespace {

class Decoding final : public Handling {
 public:
  Decoding(const Reduction& reduction, Coder coder, bool every_hop)
      : reduction_(reduction), coder_(std::move(coder)), every_hop_(every_hop) {}

  std::uint64_t capacity(std::uint64_t) const override { return coder_.capacity(); }
  Home home() const override { return coder_.home(); }

  Result<BlockPtr> contribute(Piece& piece, bool again) override {
    HOMZ_ASSIGN(BlockPtr message, encode(piece));
    if (again) {
      if (!piece.values) {
        HOMZ_ASSIGN(piece.values, coder_.room(piece.bytes));
      }
      HOMZ_TRY(coder_.decode(message, piece.values.bytes));
    } else {
      piece.values.reset();
    }
    return message;
  }

  Status join(Piece& piece, BlockPtr received, bool is_lower, Next) override {
    HOMZ_ASSIGN(const Values theirs, coder_.room(piece.bytes));
    HOMZ_TRY(coder_.decode(received, theirs.bytes));
    const ConstBytes mine = own(piece), other = theirs.bytes;
    HOMZ_TRY(coder_.processor().operate(reduction_.op, reduction_.dtype, is_lower ? other : mine,
                                        is_lower ? mine : other, theirs.bytes));
    piece.values = theirs;
    return Status();
  }

  Status complete(Piece& piece, bool travels) override {
    if (reduction_.op == ReduceOp::average) {
      if (!piece.values) {
        HOMZ_ASSIGN(piece.values, coder_.room(piece.bytes));
        HOMZ_TRY(coder_.processor().copy(piece.in, piece.values.bytes));
      }
      HOMZ_TRY(coder_.processor().divide(reduction_.dtype, piece.values.bytes, reduction_.ranks));
    }
    if (!travels) return Status();
    HOMZ_ASSIGN(piece.held, encode(piece));
    piece.values.reset();
    return Status();
  }

  Result<BlockPtr> deliver(Piece& piece) override {
    if (!piece.values) return piece.held;
    return encode(piece);  // cprp2p, of what was taken
  }

  Status take(Piece& piece, BlockPtr received, bool passed_on) override {
    piece.values.reset();
    piece.held.reset();
    if (!passed_on || !every_hop_) {
      piece.held = std::move(received);
      return Status();
    }
    HOMZ_ASSIGN(piece.values, coder_.room(piece.bytes));
    return coder_.decode(received, piece.values.bytes);
  }

  Status write(Piece& piece) override {
    if (piece.held) return coder_.decode(piece.held, piece.out);
    const ConstBytes result = own(piece);
    return result.data() == piece.out.data() ? Status() : coder_.processor().copy(result, piece.out);
  }

  Result<bool> is_made(const BlockPtr& message) override { return coder_.is_made(message); }
  Result<bool> is_settled() override { return coder_.is_settled(); }
  Status settle() override { return coder_.settle(); }
  Times times() const override { return coder_.times(); }

 private:
  Result<BlockPtr> encode(const Piece& piece) { return coder_.encode(own(piece), piece.values); }
  ConstBytes own(const Piece& piece) const {
    return piece.values ? ConstBytes(piece.values.bytes) : piece.in;
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
