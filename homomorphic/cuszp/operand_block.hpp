// A block of an operand, packed and unpacked.
#pragma once

#include "codecs/cuszp/kernels.hpp"

namespace homz::cuszp {

// As it stands in a payload.
struct PackedBlock {
  Shape shape;
  const std::byte* from;
};

template <unsigned kDim>
struct OperandBlock {
  typename Block<kDim>::Values quanta;
  std::uint64_t fill = 0, exact = 0;  // positions; none in both
  const std::byte* values = nullptr;  // the exact ones, in the order of their positions
};

template <class T, unsigned kDim>
T exact_or_restored(const OperandBlock<kDim>& operand, unsigned i, T step, const std::byte*& values) {
  if ((operand.exact >> i & 1) == 0)
    return static_cast<T>(static_cast<std::int32_t>(operand.quanta[i])) * step;
  const T x = load_value<T>(values);
  values += sizeof(T);
  return x;
}

// Values as an operand: what the codec would make of them, block by block.
template <class T, unsigned kDim>
class LocalBlock {
 public:
  OperandBlock<kDim> content;

  void take(const Coding<T>& coding, ConstBytes data, const Place<kDim>& place) {
    const CodedBlock<T, kDim> coded(coding, data.data(), data.size() / sizeof(T), place);
    coded.read_back(content.quanta);
    content.fill = content.exact = 0;
    content.values = at_ = values_;
    coded.tell(0, *this);
  }

  // As the kernels pack it; false if it is one for take(). It stays here.
  bool pack(const Coding<T>& coding, const KernelsFor<T>& kernels, ConstBytes data, const Place<kDim>& place,
            PackedBlock& packed) {
    packed.from = bytes_;
    if (place.owned != low_bits(kValues) || !coding.has_step()) return false;
    if constexpr (kDim == 1) {
      const std::byte* const values = data.data() + place.first[0] * sizeof(T);
      std::byte metadata;
      Measured measured;
      kernels.row.measure(coding, values, 1, &metadata, measured);
      const ExceptionCounts& exceptions = measured.exceptions.counts();
      if (exceptions.fill_runs + exceptions.exact_runs != 0) return false;
      kernels.row.write(coding, values, 1, &metadata, measured.marks.by_value, bytes_, measured.bytes);
      return read_shape<kDim>(metadata, coding.mode, packed.shape);
    } else {
      const TileKernels<T>& tiles = kernels.template tiles<kDim>();
      T values[kValues];
      std::uint64_t exact = 0;
      if (tiles.measure == nullptr) return false;
      gather(data.data(), data.size() / sizeof(T), place, values);
      if (!tiles.measure(coding, values, packed.shape, exact) || exact != 0) return false;
      tiles.pack(coding, values, packed.shape, bytes_);
      return true;
    }
  }

  // What a coded block tells.
  void fill(std::uint32_t position) { content.fill |= std::uint64_t{1} << position; }
  void exact(std::uint32_t position, T value) {
    content.exact |= std::uint64_t{1} << position;
    store_value(at_, value);
    at_ += sizeof(T);
  }

 private:
  static constexpr unsigned kValues = Block<kDim>::kValues;

  std::byte values_[kValues * sizeof(T)], bytes_[Block<kDim>::kMaxBytes + kBehindTile];
  std::byte* at_;
};

}  // namespace homz::cuszp
