// The kernels of a set of vector primitives.
#pragma once

#include "codecs/homcomp/chunk_decoder.hpp"
#include "codecs/homcomp/chunk_encoder.hpp"
#include "codecs/homcomp/kernels.hpp"

namespace homz::homcomp {

template <class V, class T>
std::uint32_t encode_chunk(const Coding<T>& coding, const Box& box, const Box& next, const std::byte* data,
                           EncodeSpace& space, std::byte* to) {
  return ChunkEncoder<V, T>(coding, box, next, data, space).encode(to);
}

template <class V, class T>
const char* decode_chunk(const Coding<T>& coding, const Box& box, ConstBytes chunk, std::byte* data) {
  return ChunkDecoder<V, T>(coding, box, data).decode(chunk);
}

template <class V>
constexpr Kernels kernels_of(std::string_view name) {
  return Kernels{name, &encode_chunk<V, float>, &encode_chunk<V, double>, &decode_chunk<V, float>,
                 &decode_chunk<V, double>};
}

}  // namespace homz::homcomp
