// The kernels of a set of vector primitives.
#pragma once

#include "homomorphic/homcomp/chunk_accumulate.hpp"
#include "homomorphic/homcomp/chunk_extremum.hpp"

namespace homz::homcomp {

template <class V, class T>
ChunkResult combine_chunks(const Linear<T>& linear, const Box& box, std::span<const ChunkRef> chunks,
                           SumSpace& space, std::byte* to) {
  return ChunkSum<V, T>(linear, box, chunks, space).write(to);
}

template <class V, class T>
ChunkResult extremum_of_chunks(const Linear<T>& linear, bool greatest, const Box& box, const ChunkRef& a,
                               const ChunkRef& b, SumSpace& space, std::byte* to) {
  return ChunkExtremum<V, T>(linear, greatest, box, space).write(a, b, to);
}

template <class V, class T>
ChunkResult accumulate_chunk(const Coding<T>& coding, const Linear<T>& linear, const Box& box,
                             const std::byte* data, const ChunkRef& chunk, SumSpace& space, std::byte* to,
                             std::byte* decoded) {
  return ChunkAccumulation<V, T>(coding, linear, box, space).write(data, chunk, to, decoded);
}

template <class V>
constexpr SumKernels sum_kernels_of(std::string_view name) {
  return SumKernels{name,
                    sizeof(BlockReader<V>),
                    &combine_chunks<V, float>,
                    &combine_chunks<V, double>,
                    &extremum_of_chunks<V, float>,
                    &extremum_of_chunks<V, double>,
                    &accumulate_chunk<V, float>,
                    &accumulate_chunk<V, double>,
                    &read_content<V, float>,
                    &read_content<V, double>};
}

}  // namespace homz::homcomp
