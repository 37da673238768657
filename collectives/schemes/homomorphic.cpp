// Contributions are encoded once, combined as streams, and decoded once: hZCCL (Huang et al., SC 2024) and
// HomComp's forms. Sums of quanta are exact, so all algorithms end with the same bits.
//
// On the host the forms differ in when a rank quantises what it contributes, and whether that takes a pass of
// its own: hzccl when it is needed, homcomp_ahead before anything else, homcomp_step while nothing else is to
// be done, homcomp_fused together with the addition.
#include "collectives/schemes/schemes.hpp"

namespace homz {
namespace {

class Homomorphic final : public Handling {
 public:
  Homomorphic(const Reduction& reduction, Coder coder, Scheme scheme)
      : reduction_(reduction), coder_(std::move(coder)), scheme_(scheme) {}

  std::uint64_t capacity(std::uint64_t) const override { return coder_.capacity(); }
  Home home() const override { return coder_.home(); }
  bool prepares_all() const override { return scheme_ == Scheme::homcomp_ahead; }

  Result<bool> prepare(Piece& piece) override {
    if (piece.held || (scheme_ != Scheme::homcomp_ahead && scheme_ != Scheme::homcomp_step)) return false;
    HOMZ_TRY(encode_own(piece));
    return true;
  }

  Result<BlockPtr> contribute(Piece& piece, bool again) override {
    HOMZ_TRY(encode_own(piece));
    return again ? piece.held : std::move(piece.held);
  }

  Status join(Piece& piece, BlockPtr received, bool is_lower, Next next) override {
    if (is_extremum(reduction_.op)) return join_extremum(piece, received, is_lower);
    if (next == Next::join || !piece.waiting.empty()) {
      piece.waiting.push_back(std::move(received));
      return next == Next::join ? Status() : sum_waiting(piece);
    }
    if (!piece.held && scheme_ == Scheme::homcomp_fused) return accumulate(piece, received, next);
    HOMZ_TRY(encode_own(piece));
    const BlockPtr both[] = {is_lower ? received : piece.held, is_lower ? piece.held : received};
    HOMZ_ASSIGN(piece.held, coder_.sum(both, piece.bytes));
    return Status();
  }

  Status complete(Piece& piece, bool) override { return encode_own(piece); }

  Result<BlockPtr> deliver(Piece& piece) override { return piece.held; }

  Status take(Piece& piece, BlockPtr received, bool) override {
    piece.held = std::move(received);
    return Status();
  }

  // All ranks decode the same sum and divide it alike.
  Status write(Piece& piece) override {
    if (!piece.is_decoded) HOMZ_TRY(coder_.decode(piece.held, piece.out));
    if (reduction_.op != ReduceOp::average) return Status();
    return coder_.processor().divide(reduction_.dtype, piece.out, reduction_.ranks);
  }

  Result<bool> is_made(const BlockPtr& message) override { return coder_.is_made(message); }
  Result<bool> is_settled() override { return coder_.is_settled(); }
  Status settle() override { return coder_.settle(); }
  Times times() const override { return coder_.times(); }

 private:
  Status encode_own(Piece& piece) {
    if (piece.held) return Status();
    HOMZ_ASSIGN(piece.held, coder_.encode(piece.in));
    return Status();
  }

  Status join_extremum(Piece& piece, const BlockPtr& received, bool is_lower) {
    HOMZ_TRY(encode_own(piece));
    const Extremum which = reduction_.op == ReduceOp::min ? Extremum::least : Extremum::greatest;
    HOMZ_ASSIGN(piece.held, coder_.extremum(which, is_lower ? received : piece.held,
                                            is_lower ? piece.held : received, piece.bytes));
    return Status();
  }

  Status sum_waiting(Piece& piece) {
    HOMZ_TRY(encode_own(piece));
    piece.waiting.push_back(piece.held);
    HOMZ_ASSIGN(piece.held, coder_.sum(piece.waiting, piece.bytes));
    piece.waiting.clear();
    return Status();
  }

  // The last one decodes at once.
  Status accumulate(Piece& piece, const BlockPtr& received, Next next) {
    piece.is_decoded = next == Next::complete && !piece.out.empty();
    HOMZ_ASSIGN(piece.held, coder_.accumulate(received, piece.in, piece.is_decoded ? piece.out : Bytes()));
    return Status();
  }

  Reduction reduction_;
  Coder coder_;
  Scheme scheme_;
};

}  // namespace

std::unique_ptr<Handling> homomorphic_handling(const Reduction& reduction, Coder coder, Scheme scheme) {
  return std::make_unique<Homomorphic>(reduction, std::move(coder), scheme);
}

}  // namespace homz
