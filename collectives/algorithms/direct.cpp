#include "collectives/algorithms/algorithms.hpp"

namespace homz {
namespace {

using Kind = Transfer::Kind;

PartId of(int rank) {
  return static_cast<PartId>(rank);
}

// Calls f(to, from) for all other ranks, so that no two ranks send to the same one at once.
template <class F>
void each_distance(Place place, F&& f) {
  for (int distance = 1; distance < place.size; ++distance)
    f((place.rank + distance) % place.size, (place.rank + place.size - distance) % place.size);
}

}  // namespace

Schedule direct_reduce_scatter(Place place) {
  Schedule schedule;
  each_distance(place, [&](int to, int) { schedule.push_back({Kind::contribute, to, {of(to)}}); });
  each_distance(place, [&](int, int from) { schedule.push_back({Kind::join, from, {of(place.rank)}}); });
  return schedule;
}

Schedule direct_allgather(Place place) {
  Schedule schedule;
  each_distance(place, [&](int to, int) { schedule.push_back({Kind::deliver, to, {of(place.rank)}}); });
  each_distance(place, [&](int, int from) { schedule.push_back({Kind::take, from, {of(from)}}); });
  return schedule;
}

Schedule direct_scatter(Place place) {
  if (place.rank != place.root) return {{Kind::take, place.root, {of(place.rank)}}};
  Schedule schedule;
  each_distance(place, [&](int to, int) { schedule.push_back({Kind::deliver, to, {of(to)}}); });
  return schedule;
}

Schedule direct_gather(Place place) {
  if (place.rank != place.root) return {{Kind::deliver, place.root, {of(place.rank)}}};
  Schedule schedule;
  each_distance(place, [&](int, int from) { schedule.push_back({Kind::take, from, {of(from)}}); });
  return schedule;
}

Schedule direct_alltoall(Place place) {
  const auto part = [&](int from, int to) { return of(from) * of(place.size) + of(to); };
  Schedule schedule;
  each_distance(place, [&](int to, int from) {
    schedule.push_back({Kind::deliver, to, {part(place.rank, to)}});
    schedule.push_back({Kind::take, from, {part(from, place.rank)}});
  });
  return schedule;
}

}  // namespace homz
