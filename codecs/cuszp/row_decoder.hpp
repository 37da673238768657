// Decodes whole blocks in a row. Nothing in them is trusted. A template over the vector primitives V.
#pragma once

#include "codecs/cuszp/kernels.hpp"

namespace homz::cuszp {

template <class V, class T, Mode kMode>
class RowDecoder {
 public:
  // As ReadRow.
  static std::uint64_t read(T step, const std::byte* metadata, unsigned blocks, const std::byte* from,
                            std::uint64_t left, std::byte* to) {
    const std::uint64_t all = left;
    for (unsigned block = 0; block < blocks; ++block, to += kValues * sizeof(T)) {
      const auto byte = std::to_integer<unsigned>(metadata[block]);
      const std::uint64_t bytes = kBlockSizes<1, kMode>.of[byte];
      if (bytes > left) return kBeyond;
      Vec values[V::kVectors];
      if (bytes == 0)
        for (Vec& v : values) v = V::all(0);
      else
        read_block(from, byte, values);
      for (unsigned i = 0; i < V::kVectors; ++i)
        V::template restore<T>(values[i], step, to + i * V::kLanes * sizeof(T));
      from += bytes;
      left -= bytes;
    }
    return all - left;
  }

 private:
  using Vec = typename V::Vec;
  static constexpr unsigned kValues = Block<1>::kValues, kPlaneBytes = Block<1>::kPlaneBytes;

  [[gnu::always_inline]] inline static void read_block(const std::byte* from, unsigned byte,
                                                       Vec (&values)[V::kVectors]) {
    if (kMode == Mode::outlier && byte >> 7 != 0) {
      const unsigned bytes = (byte >> 5 & 3) + 1;
      V::template read_planes<kPlaneBytes>(from + bytes, byte & 31, values);
      values[0] = V::with_first(values[0], load_outlier(from, bytes));
    } else {
      V::template read_planes<kPlaneBytes>(from, byte & 31, values);
    }
    if (kMode != Mode::fixed) add_up(values);
  }

  static void add_up(Vec (&values)[V::kVectors]) {
    Vec before = V::all(0);
    for (unsigned i = 0; i < V::kVectors; ++i) {
      const Vec sums = V::prefix_sums(values[i]);
      values[i] = sums + before;
      before += V::last(sums);  // off the chain from vector to vector
    }
  }
};

}  // namespace homz::cuszp
