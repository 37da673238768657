// The formulas. Notation: N ranks, L = ceil(log2 N), S raw bytes of the whole, a latency, b seconds of a wire
// byte, g of reducing a byte, c, d, h of compressing, decompressing, combining one; rho compressed over raw.
// They are those of Thakur, Rabenseifner, Gropp (IJHPCA 19, 2005) for uncompressed data, of C-Coll (IPDPS
// 2024) and hZCCL (SC 2024) for compressed; here without pipelining, which Model::round adds.
#pragma once

#include "collectives/cost_model.hpp"

namespace homz::costs {

// Mean of log2 1 ... log2 n, by Stirling.
inline double mean_growth(int n) {
  constexpr double kLog2E = 1.4426950408889634, kPi = 3.141592653589793;
  if (n <= 1) return 0;
  return std::max(0.0, log2_about(n) - kLog2E + log2_about(2 * kPi * n) / (2.0 * n));
}

// A task by one algorithm. What is `moved` afterwards is left as a message.
class Formulas {
 public:
  using Round = Model::Round;

  Formulas(Model& model, const Network& network, double bytes)
      : model_(model),
        steps_(model.steps()),
        network_(network),
        ranks_(network.ranks()),
        whole_(bytes),
        chunk_(bytes / network.ranks()),
        growth_(log2_about(ranks_)) {}

  // ---- Reductions to chunks

  // (N-1)a + (N-1)/N S (rho b + work of a hop)
  void ring_reduce_scatter(bool moved) {
    model_.alone(whole_, steps_.ahead);
    model_.begin(chunk_, steps_.make);
    const double last = moved ? 0 : 1;
    Round round{network_.next(), chunk_, mean_growth(ranks_ - 1), steps_.fresh + steps_.resend, steps_.aside};
    round.times = ranks_ - 1 - last;
    model_.round(round);
    if (last != 0) {
      round.chain = steps_.fresh;
      round.times = 1;
      model_.round(round);
    }
    finish(chunk_, moved);
  }

  // a + (N-1)/N S (rho b + c + work of joining); incast is not in it. Many streams are combined in one pass,
  // which takes about 0.6 of one by one (benchmarks/results/op.md).
  void direct_reduce_scatter(bool moved) {
    model_.alone(whole_, steps_.ahead);
    model_.begin(chunk_ * (ranks_ - 1), steps_.make);
    const bool is_pair = ranks_ == 2;
    Round round{network_.all_to_all(), chunk_, 0, is_pair ? steps_.fresh + steps_.aside : steps_.made,
                Work{}};
    if (!is_pair) round.chain.combine *= 0.6;
    round.messages = ranks_ - 1;
    model_.round(round);
    if (!is_pair) model_.alone(chunk_, steps_.own);
    model_.alone(chunk_, moved ? steps_.resend : Work{});
    finish(chunk_, moved);
  }

  // L a + (N-1)/N S (rho b + work): halves, quarters, ..., farthest ranks first; others fold in before.
  void halving(bool moved) {
    model_.alone(whole_, steps_.ahead);
    model_.begin(whole_ / 2, steps_.make);
    fold_in();
    const int rounds = floor_log2(ranks_);
    double bytes = whole_;
    for (int i = 0; i < rounds; ++i) {
      bytes /= 2;
      const bool first = i == 0, last = i == rounds - 1;
      const Work join = first ? steps_.fresh : steps_.made;
      Round round{network_.exchange(1 << (rounds - 1 - i)), bytes, static_cast<double>(i), join, Work{}};
      if (!last || moved) round.chain = round.chain + steps_.resend;
      if (first) round.side = steps_.aside;
      model_.round(round);
    }
    finish(chunk_, moved);
    if (!moved && extra_ranks() != 0) model_.round({network_.edge(1), chunk_, growth_, steps_.take, {}});
  }

  // ---- Reductions of whole vectors

  // L (a + S (rho b + work)); homomorphic: S (c + d) + L (a + S (rho b + h))
  void recursive_doubling() {
    model_.alone(whole_, steps_.ahead);
    model_.begin(whole_, steps_.make);
    fold_in();
    for (int i = 0; i < floor_log2(ranks_); ++i) {
      Round round{network_.exchange(1 << i), whole_, static_cast<double>(i),
                  steps_.made + steps_.resend + steps_.again, Work{}};
      model_.round(round);
    }
    finish(whole_, true);
    fold_out();
  }

  // To a root: L (a + S (rho b + work))
  void binomial_reduce(bool moved) {
    model_.alone(whole_, steps_.ahead);
    model_.begin(whole_, steps_.make);
    for (int i = 0; i < ceil_log2(ranks_); ++i) {
      const Work join = i == 0 ? steps_.fresh : steps_.made;
      Round round{network_.edge(1 << i), whole_, static_cast<double>(i), join, steps_.aside};
      if (i + 1 < ceil_log2(ranks_) || moved) round.chain = round.chain + steps_.resend;
      if (i != 0) round.side = Work{};
      model_.round(round);
    }
    finish(whole_, moved);
  }

  // ---- Movement, of S over all; `growth` is that of what was reduced before

  // (N-1)a + (N-1)/N S (rho b + d)
  void ring_allgather(double growth) {
    move({network_.next(), chunk_, growth, {}, {}, 1, static_cast<double>(ranks_ - 1)});
  }
  // L a + (N-1)/N S (rho b + d); with ranks that were folded in: they get the whole afterwards
  void doubling_allgather(double growth) {
    double bytes = whole_ / (1 << floor_log2(ranks_));
    for (int i = 0; i < floor_log2(ranks_); ++i, bytes *= 2)
      move({network_.exchange(1 << i), bytes, growth, {}, {}});
  }
  // The same with ceil(log2 N) rounds for any N; the last one sends what is left.
  void bruck_allgather() {
    for (int i = 0; i < ceil_log2(ranks_); ++i) {
      const int blocks = std::min(1 << i, ranks_ - (1 << i));
      move({network_.shift(1 << i), chunk_ * blocks, 0, {}, {}});
    }
  }
  // a + (N-1)/N S (rho b + d)
  void direct_allgather(double growth) {
    move({network_.all_to_all(), chunk_, growth, {}, {}, static_cast<double>(ranks_ - 1)});
  }
  // The source's own data, to be moved: S/N c, and what it decodes to
  void source(double bytes) {
    model_.begin(bytes, steps_.make);
    model_.beside(bytes, steps_.share);
  }

  // L (a + S rho b) + S (c + d)
  void binomial_bcast(double growth) {
    const int rounds = ceil_log2(ranks_);
    for (int i = 0; i < rounds; ++i) {
      Round round{network_.edge(1 << (rounds - 1 - i)), whole_, growth, steps_.pass, {}};
      (i == rounds - 1 ? round.side : round.between) = steps_.take;
      model_.round(round);
    }
  }
  // Scatter and gather: L a + (N-1)/N S rho b, halves, quarters, ...
  void binomial_spread(double growth, const Work& at_end) {
    const int rounds = ceil_log2(ranks_);
    int left = ranks_;
    for (int i = 0; i < rounds; ++i) {
      const int blocks = left / 2, distance = 1 << (rounds - 1 - i);
      left -= blocks;
      Round round{network_.edge(distance), chunk_ * blocks, growth, steps_.pass, {}};
      if (i == rounds - 1) round.side = at_end;
      model_.round(round);
    }
  }
  // a + (N-1)/N S rho b
  void direct_spread(double growth, const Work& at_root) {
    Round round{network_.one_to_all(), chunk_, growth, {}, at_root, static_cast<double>(ranks_ - 1)};
    model_.round(round);
  }

  // a + (N-1)/N S (c + rho b + d)
  void direct_alltoall() {
    model_.begin(chunk_ * (ranks_ - 1), steps_.make);
    Round round{network_.all_to_all(), chunk_, 0, {}, steps_.take};
    round.messages = ranks_ - 1;
    model_.round(round);
    model_.alone(chunk_, steps_.make + steps_.share);
  }
  // S (c + d) + L (a + S/2 rho b)
  void bruck_alltoall() {
    model_.alone(whole_, steps_.make + steps_.take);
    for (int i = 0; i < ceil_log2(ranks_); ++i)
      model_.round({network_.shift(1 << i), whole_ / 2, 0, steps_.pass, {}});
  }

  // Ranks over a power of two: 2 (a + S rho b) and a join.
  void fold_in() {
    if (extra_ranks() == 0) return;
    model_.round({network_.edge(1), whole_, 0, steps_.fresh + steps_.resend, steps_.aside});
  }
  void fold_out() {
    if (extra_ranks() == 0) return;
    model_.round({network_.edge(1), whole_, growth_, {}, steps_.take});
  }

  double growth() const { return growth_; }
  double chunk() const { return chunk_; }

 private:
  int extra_ranks() const { return ranks_ - (1 << floor_log2(ranks_)); }
  void finish(double bytes, bool moved) { model_.alone(bytes, moved ? steps_.share : steps_.keep); }
  // What is received is taken, and then goes on.
  void move(Round round) {
    round.chain = steps_.take + steps_.pass;
    model_.round(round);
  }

  Model& model_;
  const Steps& steps_;
  const Network network_;
  const int ranks_;
  const double whole_, chunk_, growth_;
};

}  // namespace homz::costs
