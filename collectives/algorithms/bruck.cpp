// Bruck's algorithms.
#include <algorithm>

#include "collectives/algorithms/algorithms.hpp"

namespace homz {
namespace {

using Kind = Transfer::Kind;

}  // namespace

// Rank r has the parts r to r + d - 1 when the distance is d.
Schedule bruck_allgather(Place place) {
  const auto [rank, size, root] = place;
  Schedule schedule;
  for (int distance = 1; distance < size; distance *= 2) {
    std::vector<PartId> mine, theirs;
    for (int i = 0; i < std::min(distance, size - distance); ++i) {
      mine.push_back(static_cast<PartId>((rank + i) % size));
      theirs.push_back(static_cast<PartId>((rank + distance + i) % size));
    }
    schedule.push_back({Kind::deliver, (rank + size - distance) % size, std::move(mine)});
    schedule.push_back({Kind::take, (rank + distance) % size, std::move(theirs)});
  }
  return schedule;
}

// What has j ranks to go travels in the rounds of the bits of j, lowest first.
Schedule bruck_alltoall(Place place) {
  const auto [rank, size, root] = place;
  // The part that has `way` to go altogether and, with the bits below `bit` of it done, is at `at` now.
  const auto part = [&](int at, int way, int bit) {
    const int from = (at - (way & (bit - 1)) + 2 * size) % size;
    return static_cast<PartId>(from) * static_cast<PartId>(size) + static_cast<PartId>((from + way) % size);
  };
  Schedule schedule;
  for (int bit = 1; bit < size; bit *= 2) {
    const int to = (rank + bit) % size, from = (rank + size - bit) % size;
    std::vector<PartId> mine, theirs;
    for (int way = bit; way < size; ++way) {
      if ((way & bit) == 0) continue;
      mine.push_back(part(rank, way, bit));
      theirs.push_back(part(from, way, bit));
    }
    schedule.push_back({Kind::deliver, to, std::move(mine)});
    schedule.push_back({Kind::take, from, std::move(theirs)});
  }
  return schedule;
}

}  // namespace homz
