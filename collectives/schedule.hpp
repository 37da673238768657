// What an algorithm is: for each rank a list of transfers of parts, in order.
//
// A part is a stretch of the data that travels as a whole; in a reduction every rank has a contribution to
// it. The executor (transfers.hpp) cuts parts into pieces and lets every piece go on as soon as it can.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/request.hpp"
#include "core/memory.hpp"

namespace homz {

using PartId = std::uint32_t;

struct Transfer {
  enum class Kind : std::uint8_t {
    contribute,  // send what this rank has of the parts by now; the peer joins it
    join,        // receive a contribution, and operate it on what this rank has
    deliver,     // send what the parts are in the end; the peer takes it
    take,        // receive that, to keep or to pass on
  };
  Kind kind;
  int peer;
  std::vector<PartId> parts;  // sender and receiver list the same parts in the same order
};

// Messages between two ranks arrive in the order of their transfers.
using Schedule = std::vector<Transfer>;

// Parts of equal numbers for all, [first, last).
std::vector<PartId> range_of_parts(PartId first, PartId last);

constexpr bool is_send(Transfer::Kind kind) {
  return kind == Transfer::Kind::contribute || kind == Transfer::Kind::deliver;
}

// Who, among how many, with which root.
struct Place {
  int rank = 0, size = 1, root = 0;
};

}  // namespace homz
