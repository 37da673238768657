// The kernels of a set of vector primitives.
#pragma once

#include "codecs/cuszp/row_decoder.hpp"
#include "codecs/cuszp/row_encoder.hpp"
#include "codecs/cuszp/tile_block.hpp"

namespace homz::cuszp {

template <class V, class T>
void measure_row(const Coding<T>& coding, const std::byte* values, unsigned blocks, std::byte* metadata,
                 Measured& measured) {
  if (coding.mode == Mode::fixed)
    RowEncoder<V, T, Mode::fixed>(coding, values, blocks).measure(metadata, measured);
  else if (coding.mode == Mode::plain)
    RowEncoder<V, T, Mode::plain>(coding, values, blocks).measure(metadata, measured);
  else
    RowEncoder<V, T, Mode::outlier>(coding, values, blocks).measure(metadata, measured);
}

template <class V, class T>
std::uint64_t write_row(const Coding<T>& coding, const std::byte* values, unsigned blocks,
                        const std::byte* metadata, const BlockMask& by_value, std::byte* to,
                        std::uint64_t room) {
  if (coding.mode == Mode::fixed)
    return RowEncoder<V, T, Mode::fixed>(coding, values, blocks).write(metadata, by_value, to, room);
  if (coding.mode == Mode::plain)
    return RowEncoder<V, T, Mode::plain>(coding, values, blocks).write(metadata, by_value, to, room);
  return RowEncoder<V, T, Mode::outlier>(coding, values, blocks).write(metadata, by_value, to, room);
}

template <class V, class T>
void list_row(const Coding<T>& coding, const std::byte* values, unsigned blocks, const Marks& marks,
              ExceptionWriter& writer) {
  RowEncoder<V, T, Mode::plain>(coding, values, blocks).list(marks, writer);  // quanta are those of all modes
}

template <class V, class T>
std::uint64_t read_row(const Coding<T>& coding, const std::byte* metadata, unsigned blocks,
                       const std::byte* from, std::uint64_t left, std::byte* values) {
  const T step = coding.step;
  if (coding.mode == Mode::fixed)
    return RowDecoder<V, T, Mode::fixed>::read(step, metadata, blocks, from, left, values);
  if (coding.mode == Mode::plain)
    return RowDecoder<V, T, Mode::plain>::read(step, metadata, blocks, from, left, values);
  return RowDecoder<V, T, Mode::outlier>::read(step, metadata, blocks, from, left, values);
}

template <class V, class T, unsigned kDim>
bool measure_tile(const Coding<T>& coding, const T* values, Shape& shape, std::uint64_t& exact) {
  if (coding.mode == Mode::fixed)
    return TileBlock<V, T, kDim, Mode::fixed>::measure(coding, values, shape, exact);
  if (coding.mode == Mode::plain)
    return TileBlock<V, T, kDim, Mode::plain>::measure(coding, values, shape, exact);
  return TileBlock<V, T, kDim, Mode::outlier>::measure(coding, values, shape, exact);
}

template <class V, class T, unsigned kDim>
void pack_tile(const Coding<T>& coding, const T* values, Shape shape, std::byte* to) {
  if (coding.mode == Mode::fixed)
    TileBlock<V, T, kDim, Mode::fixed>::pack(coding, values, shape, to);
  else
    TileBlock<V, T, kDim, Mode::outlier>::pack(coding, values, shape, to);  // takes plain blocks as well
}

template <class V, class T, unsigned kDim>
void unpack_tile(const Coding<T>& coding, Shape shape, const std::byte* from, T* values) {
  if (coding.mode == Mode::fixed)
    TileBlock<V, T, kDim, Mode::fixed>::unpack(coding, shape, from, values);
  else
    TileBlock<V, T, kDim, Mode::outlier>::unpack(coding, shape, from, values);
}

template <class V, class T, unsigned kDim>
constexpr TileKernels<T> tile_kernels_of() {
  if constexpr (std::is_void_v<V>)
    return {};
  else
    return TileKernels<T>{&measure_tile<V, T, kDim>, &pack_tile<V, T, kDim>, &unpack_tile<V, T, kDim>};
}

template <class V, class T>
constexpr KernelsFor<T> kernels_for() {
  using U = typename V::ForTiles;
  return KernelsFor<T>{{&measure_row<V, T>, &write_row<V, T>, &list_row<V, T>, &read_row<V, T>},
                       tile_kernels_of<U, T, 2>(),
                       tile_kernels_of<U, T, 3>()};
}

template <class V>
constexpr Kernels kernels_of(std::string_view name) {
  return Kernels{name, kernels_for<V, float>(), kernels_for<V, double>()};
}

}  // namespace homz::cuszp
