// A block of an operand.
#pragma once

#include "codecs/cuszp/coding.hpp"

namespace homz::cuszp {

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

  // What a coded block tells.
  void fill(std::uint32_t position) { content.fill |= std::uint64_t{1} << position; }
  void exact(std::uint32_t position, T value) {
    content.exact |= std::uint64_t{1} << position;
    store_value(at_, value);
    at_ += sizeof(T);
  }

 private:
  std::byte values_[Block<kDim>::kValues * sizeof(T)];
  std::byte* at_;
};

}  // namespace homz::cuszp
