// Ranks as threads, and the data that they work on.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "collectives/communicator.hpp"
#include "collectives/profile.hpp"

namespace homz::test {

template <class T>
using Values = std::vector<T>;

template <class T>
ConstBytes bytes_of(const Values<T>& values) {
  return std::as_bytes(std::span(values));
}
template <class T>
Bytes bytes_of(Values<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

using Transports = std::vector<std::unique_ptr<Transport>>;

// Runs `work` on a thread a rank, and waits for all.
void on_ranks(Transports transports, const std::function<void(Communicator&)>& work,
              const Profile& profile = Profile::unmeasured());
void on_ranks(int ranks, const std::function<void(Communicator&)>& work, int ranks_per_node = 1);

// Different on every rank: a smooth field, with some noise.
template <class T>
Values<T> rank_data(int rank, std::uint64_t count);

// Of a reduction, in more digits than the type has.
template <class T>
std::vector<long double> exact(const std::vector<Values<T>>& of_ranks, ReduceOp op);

// Every value within the bound, the same bits everywhere.
template <class T>
void expect_within(const Values<T>& values, const std::vector<long double>& wanted, double bound);

}  // namespace homz::test
