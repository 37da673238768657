// Puts a chunk together from its parts. A template over the vector primitives V.
#pragma once

#include <cstring>

#include "codecs/homcomp/chunk_head.hpp"
#include "codecs/homcomp/chunk_parts.hpp"

namespace homz::homcomp {

// All of a chunk but its exact values, if it is smaller than its values would be.
template <class V>
class ChunkWriter {
 public:
  ChunkWriter(const Orders& orders, unsigned range, BlockCodes& codes, unsigned blocks, bool has_masks)
      : head_bytes_(static_cast<unsigned>(
            write_head(orders, range, codes, blocks, has_masks ? codes.of_most(blocks) : kZero, head_) -
            head_)) {}

  // Bytes of the chunk with `value_bytes` of exact values; or 0, with nothing written, if that is not below
  // `raw_bytes`. `to` moves to where the exact values belong.
  unsigned write(const EncodeSpace& space, const ChunkParts<V>& parts, unsigned value_bytes,
                 unsigned raw_bytes, std::byte*& to) const {
    const unsigned size = head_bytes_ + parts.bytes(space) + value_bytes;
    if (size >= raw_bytes) return 0;
    std::memcpy(to, head_, head_bytes_);
    to = parts.write(space, to + head_bytes_);
    return size;
  }

 private:
  std::byte head_[ChunkHead::kMax + ChunkHead::kCodeGroup];
  unsigned head_bytes_;
};

}  // namespace homz::homcomp
