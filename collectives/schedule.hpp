// What an algorithm is: for each rank a list of transfers of parts, in order.
//
// A part is a stretch of the data that travels as a whole; in a reduction every rank has a contribution to
// it. The executor (operation.hpp) cuts parts into pieces and lets every piece go on as soon as it can.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/request.hpp"
#include "core/memory.hpp"

namespace homz {

using PartId = std::uint32_t;

struct Transfer {
  enum class Kind : std::uint8_t {
    send,  // what this rank has of the parts by now
    join,  // receive a contribution and operate it on what this rank has
    take,  // receive what the part is in the end; or, if it is not this rank's to keep, what is passed on
  };
  Kind kind = Kind::send;
  int peer = 0;
  std::vector<PartId> parts;  // sender and receiver list the same parts in the same order
};

// Messages between two ranks arrive in the order of their transfers.
using Schedule = std::vector<Transfer>;

// Parts of equal numbers for all, [first, last).
std::vector<PartId> range_of_parts(PartId first, PartId last);

inline Transfer send_to(int peer, std::vector<PartId> parts) {
  return {Transfer::Kind::send, peer, std::move(parts)};
}
inline Transfer join_from(int peer, std::vector<PartId> parts) {
  return {Transfer::Kind::join, peer, std::move(parts)};
}
inline Transfer take_from(int peer, std::vector<PartId> parts) {
  return {Transfer::Kind::take, peer, std::move(parts)};
}

// A shape: who, among how many, with which root.
struct Place {
  int rank = 0, size = 1, root = 0;
};

}  // namespace homz
