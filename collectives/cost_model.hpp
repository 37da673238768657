// What the formulas of collectives/cost.cpp are made of: links by distance, what a scheme does to a byte, and
// the time of a round.
#pragma once

#include <algorithm>

#include "collectives/cost.hpp"
#include "collectives/frame.hpp"

namespace homz::costs {

// How often something is done to every byte.
struct Work {
  double encode = 0, decode = 0, combine = 0, accumulate = 0, reduce = 0, copy = 0;
  friend Work operator+(const Work& a, const Work& b) {
    return {a.encode + b.encode,         a.decode + b.decode, a.combine + b.combine,
            a.accumulate + b.accumulate, a.reduce + b.reduce, a.copy + b.copy};
  }
};

// What a scheme does, step by step.
struct Steps {
  Work ahead;   // own data, before anything is sent
  Work make;    // own data to a message
  Work own;     // own data to an operand
  Work fresh;   // a message operated on own data that were not touched before
  Work aside;   // at the same time: of own data, not in the way of what was received
  Work made;    // a message operated on what a former one has left
  Work resend;  // what was operated on, to a message
  Work again;   // and to the values in the message, where this rank goes on with them
  Work keep;    // what was operated on, to the values of one rank
  Work share;   // to the values that others decode, where it was sent on
  Work take;    // a moved message to values
  Work pass;    // a moved message to a moved message
};

// Message to its receiver, all ranks at once: seconds and seconds a byte.
struct Link {
  double latency = 0, seconds_per_byte = 0;
};

// Who sends over what: `per_node` ranks in a row on every node, which share its link to the others.
class Network {
 public:
  Network(int ranks, int per_node, Link inside, Link between)
      : ranks_(ranks),
        per_node_(std::clamp(per_node, 1, std::max(ranks, 1))),
        inside_(inside),
        between_(between) {}

  int ranks() const { return ranks_; }

  // Every rank to the next: one rank of a node crosses, and the slower link holds up the ring.
  Link next() const { return crossing(1); }
  // Every rank with the one at distance d, a power of two, in both directions.
  Link exchange(int d) const {
    const bool stays = d < per_node_ && (per_node_ & (per_node_ - 1)) == 0;
    return stays ? inside_ : crossing(d);
  }
  // Every rank to the one d further.
  Link shift(int d) const { return crossing(d); }
  // Tree edges of length d: at most one rank of a node crosses.
  Link edge(int d) const { return d < per_node_ ? inside_ : crossing(1); }
  // Every rank to all others; for each byte sent.
  Link all_to_all() const { return spread(per_node_); }
  // One rank to all others, or back.
  Link one_to_all() const { return spread(1); }

 private:
  bool is_one_node() const { return ranks_ <= per_node_; }

  Link crossing(int d) const {
    if (is_one_node()) return inside_;
    const double sharing = std::min(d, per_node_);
    return {std::max(inside_.latency, between_.latency),
            std::max(inside_.seconds_per_byte, sharing * between_.seconds_per_byte)};
  }
  Link spread(int senders_of_a_node) const {
    const int others = std::max(ranks_ - 1, 1), near = std::min(per_node_, ranks_) - 1;
    const double share = static_cast<double>(near) / others;
    return {is_one_node() ? inside_.latency : std::max(inside_.latency, between_.latency),
            std::max(share * inside_.seconds_per_byte,
                     (1 - share) * senders_of_a_node * between_.seconds_per_byte)};
  }

  int ranks_, per_node_;
  Link inside_, between_;
};

// Adds up rounds.
class Model {
 public:
  Model(const Task& task, const Approach& approach, const Abilities& able);

  const Steps& steps() const { return steps_; }
  Cost cost() const { return cost_; }

  // Nothing else goes on meanwhile.
  void alone(double bytes, const Work& work) { cost_.seconds += seconds(bytes, work); }
  // The first piece is waited for; the others are done during the next round.
  void begin(double bytes, const Work& work) {
    const double first = seconds(std::min(bytes, piece_), work);
    cost_.seconds += first;
    pending_ += seconds(bytes, work) - first;
  }
  // Done during the next round.
  void beside(double bytes, const Work& work) { pending_ += seconds(bytes, work); }
  void add(const Cost& other) {
    cost_.seconds += other.seconds;
    cost_.wire_bytes += other.wire_bytes;
  }

  struct Round {
    Link link;
    double bytes = 0;     // raw, of a message
    double growth = 0;    // log2 of the number of ranks whose data are added up in it
    Work chain;           // done to a piece before it can go on
    Work side;            // done besides
    double messages = 1;  // to as many ranks
    double times = 1;
    Work between = {};  // done to a piece before it can go on, but by each rank in another round only
  };
  // Pieces go on as soon as they can. So a round takes the greater of the link's time and the processor's;
  // or, if that is more, what one piece takes from rank to rank.
  void round(const Round& round);

 private:
  // Seconds of work on so many bytes, piece by piece.
  double seconds(double bytes, const Work& work) const;
  double sent_bytes(double raw, double growth) const;

  const Abilities& able_;
  const CodecProfile* codec_;
  Steps steps_;
  double value_bytes_, bits_, piece_;  // bits: of a value on the wire
  unsigned threads_;
  bool grows_;
  double pending_ = 0;
  Cost cost_;
};

}  // namespace homz::costs
