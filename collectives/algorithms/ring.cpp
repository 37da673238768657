#include "collectives/algorithms/algorithms.hpp"

namespace homz {
namespace {

PartId wrapped(int part, int size) {
  return static_cast<PartId>(((part % size) + size) % size);
}

}  // namespace

Schedule ring_reduce_scatter(Place place) {
  const auto [rank, size, root] = place;
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  Schedule schedule;
  for (int step = 0; step + 1 < size; ++step) {
    schedule.push_back({Transfer::Kind::contribute, next, {wrapped(rank - step - 1, size)}});
    schedule.push_back({Transfer::Kind::join, last, {wrapped(rank - step - 2, size)}});
  }
  return schedule;
}

Schedule ring_allgather(Place place) {
  const auto [rank, size, root] = place;
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  Schedule schedule;
  for (int step = 0; step + 1 < size; ++step) {
    schedule.push_back({Transfer::Kind::deliver, next, {wrapped(rank - step, size)}});
    schedule.push_back({Transfer::Kind::take, last, {wrapped(rank - step - 1, size)}});
  }
  return schedule;
}

}  // namespace homz
