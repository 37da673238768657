// Recursive doubling and halving.
#include <bit>

#include "collectives/algorithms/algorithms.hpp"

namespace homz {
namespace {

using Kind = Transfer::Kind;

// The ranks that take part in the rounds: a power of two of them. Of the first 2 (size - count) ranks, odd
// ones fold into the even one in front of them.
struct Folded {
  explicit Folded(Place place)
      : size(place.size),
        count(static_cast<int>(std::bit_floor(static_cast<unsigned>(place.size)))),
        extras(place.size - count),
        is_extra(place.rank < 2 * extras && place.rank % 2 == 1),
        has_extra(place.rank < 2 * extras && place.rank % 2 == 0),
        index(place.rank < 2 * extras ? place.rank / 2 : place.rank - extras) {}

  int rank_of(int i) const { return i < extras ? 2 * i : i + extras; }
  // The parts of the participants [first, last), with those of the ranks folded into them.
  std::vector<PartId> parts(int first, int last) const {
    const auto border = [&](int i) { return static_cast<PartId>(i == count ? size : rank_of(i)); };
    return range_of_parts(border(first), border(last));
  }

  int size, count, extras;
  bool is_extra, has_extra;
  int index;  // among the participants
};

std::vector<PartId> all_of(const Folded& folded) {
  return folded.parts(0, folded.count);
}

// Participants halve the range that they still have, and keep the half that they are in.
void halve(const Folded& folded, Schedule& schedule) {
  for (int first = 0, last = folded.count; last - first > 1;) {
    const int middle = (first + last) / 2, half = middle - first;
    const bool is_low = folded.index < middle;
    const int peer = folded.rank_of(is_low ? folded.index + half : folded.index - half);
    const auto low = folded.parts(first, middle), high = folded.parts(middle, last);
    schedule.push_back({Kind::contribute, peer, is_low ? high : low});
    schedule.push_back({Kind::join, peer, is_low ? low : high});
    (is_low ? last : first) = middle;
  }
}

void double_up(const Folded& folded, Schedule& schedule) {
  for (int half = 1; half < folded.count; half *= 2) {
    const int first = folded.index / (2 * half) * (2 * half), middle = first + half, last = middle + half;
    const bool is_low = folded.index < middle;
    const int peer = folded.rank_of(is_low ? folded.index + half : folded.index - half);
    const auto low = folded.parts(first, middle), high = folded.parts(middle, last);
    schedule.push_back({Kind::deliver, peer, is_low ? low : high});
    schedule.push_back({Kind::take, peer, is_low ? high : low});
  }
}

// Before and behind the rounds; `result`: what a folded rank gets.
template <class F>
Schedule folding(Place place, const std::vector<PartId>& all, const std::vector<PartId>& result, F&& rounds) {
  const Folded folded(place);
  Schedule schedule;
  if (folded.is_extra) {
    schedule.push_back({Kind::contribute, place.rank - 1, all});
    schedule.push_back({Kind::take, place.rank - 1, result});
    return schedule;
  }
  if (folded.has_extra) schedule.push_back({Kind::join, place.rank + 1, all});
  rounds(folded, schedule);
  if (folded.has_extra) schedule.push_back({Kind::deliver, place.rank + 1, result});
  return schedule;
}

}  // namespace

Schedule doubling_allreduce(Place place) {
  return folding(place, {0}, {0}, [](const Folded& folded, Schedule& schedule) {
    for (int distance = 1; distance < folded.count; distance *= 2) {
      const int peer = folded.rank_of(folded.index ^ distance);
      schedule.push_back({Kind::contribute, peer, {0}});
      schedule.push_back({Kind::join, peer, {0}});
    }
  });
}

Schedule doubling_allgather(Place place) {
  Schedule schedule;
  double_up(Folded(place), schedule);
  return schedule;
}

Schedule halving_reduce_scatter(Place place) {
  const Folded folded(place);
  const auto of_extra = static_cast<PartId>(folded.is_extra ? place.rank : place.rank + 1);
  return folding(place, all_of(folded), {of_extra}, halve);
}

Schedule halving_allreduce(Place place) {
  const auto all = all_of(Folded(place));
  return folding(place, all, all, [](const Folded& folded, Schedule& schedule) {
    halve(folded, schedule);
    double_up(folded, schedule);
  });
}

}  // namespace homz
