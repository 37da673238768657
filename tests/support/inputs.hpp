// Named inputs that provoke every kind of fault known in error-bounded compressors, in both element types.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/field.hpp"
#include "core/memory.hpp"
#include "core/status.hpp"

namespace homz {

inline void PrintTo(Code code, std::ostream* out) {
  *out << to_string(code);
}  // in failures of GoogleTest

}  // namespace homz

namespace homz::test {

// A field with its data, and the fill value that would be declared for it.
struct Sample {
  std::string name;
  Field field;
  std::vector<std::byte> data;
  std::optional<std::uint64_t> fill_bits;

  ConstBytes bytes() const { return data; }
};

std::vector<std::string_view> input_names();

// The same values on every run. Aborts for a name that is not in input_names().
Sample make_sample(std::string_view input, Dtype dtype, std::vector<std::uint64_t> extents);

template <class T>
Sample sample_of(std::string name, const std::vector<T>& values, std::vector<std::uint64_t> extents = {},
                 std::optional<T> fill = std::nullopt) {
  if (extents.empty()) extents = {values.size()};
  Sample sample{std::move(name), *Field::make(dtype_of<T>(), extents), {}, std::nullopt};
  const auto bytes = std::as_bytes(std::span(values));
  sample.data.assign(bytes.begin(), bytes.end());
  if (fill)
    sample.fill_bits =
        __builtin_bit_cast(std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>, *fill);
  return sample;
}

// Finite values that are not fill: max - min, and the largest magnitude.
struct Magnitudes {
  double range = 0, largest = 0;
};
Magnitudes magnitudes_of(const Sample& sample);

// Absolute bounds that put quanta of this sample everywhere between 0 and far beyond 2^63, and bounds below
// the smallest normal number.
std::vector<double> bounds_for(const Sample& sample);
// The two that are used in practice: 1e-3 and 1e-5 of the range (or of 1, for a range of 0).
std::vector<double> common_bounds_for(const Sample& sample);

}  // namespace homz::test
