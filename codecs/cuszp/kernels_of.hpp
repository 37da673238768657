// The kernels of a set of vector primitives.
#pragma once

#include "codecs/cuszp/row_decoder.hpp"
#include "codecs/cuszp/row_encoder.hpp"

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

template <class V, class T>
constexpr RowKernels<T> row_kernels_of() {
  return RowKernels<T>{&measure_row<V, T>, &write_row<V, T>, &list_row<V, T>, &read_row<V, T>};
}

template <class V>
constexpr Kernels kernels_of(std::string_view name) {
  return Kernels{name, row_kernels_of<V, float>(), row_kernels_of<V, double>()};
}

}  // namespace homz::cuszp
