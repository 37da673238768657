// Small things that all ranks of a transport tell each other while something is set up. All call these in the
// same order, and wait for each other.
#pragma once

#include <cstring>
#include <type_traits>
#include <vector>

#include "collectives/transport.hpp"

namespace homz {

// What each rank gave, in order of the ranks. Of equal lengths.
Result<std::vector<std::byte>> gather_all(Transport& transport, ConstBytes own);

template <class T>
Result<std::vector<T>> gather_all(Transport& transport, const T& own) {
  static_assert(std::is_trivially_copyable_v<T>);
  HOMZ_ASSIGN(const auto bytes, gather_all(transport, std::as_bytes(std::span(&own, 1))));
  std::vector<T> all(static_cast<std::size_t>(transport.size()));
  std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}

// Ok if all ranks are; else, on all of them, what the first rank that is not says.
Status agree(Transport& transport, const Status& own);

}  // namespace homz
