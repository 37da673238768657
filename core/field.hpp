// A field: an array of floating-point numbers with its type and shape, without its data.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/status.hpp"

namespace homz {

enum class Dtype : std::uint8_t { f32 = 1, f64 = 2 };  // the values are part of the stream format

constexpr std::uint64_t size_of(Dtype dtype) {
  return dtype == Dtype::f32 ? 4 : 8;
}
constexpr std::string_view to_string(Dtype dtype) {
  return dtype == Dtype::f32 ? "f32" : "f64";
}
template <class T>
constexpr Dtype dtype_of() {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  return sizeof(T) == 4 ? Dtype::f32 : Dtype::f64;
}

// Calls f(float{}) or f(double{}): the only switch over types there is.
template <class F>
decltype(auto) with_dtype(Dtype dtype, F&& f) {
  return dtype == Dtype::f32 ? f(float{}) : f(double{});
}

struct Field {
  static constexpr unsigned kMaxRank = 4;

  Dtype dtype = Dtype::f32;
  std::uint8_t rank = 1;
  std::array<std::uint64_t, kMaxRank> extents{};  // slowest first, in elements; those past rank are 0

  // Refuses ranks outside 1..4 and shapes whose bytes do not fit in 63 bits. Extents of 0 are fine.
  static Result<Field> make(Dtype dtype, std::span<const std::uint64_t> extents);
  static Field flat(Dtype dtype, std::uint64_t count) { return Field{dtype, 1, {count, 0, 0, 0}}; }

  std::uint64_t count() const noexcept {
    std::uint64_t product = 1;
    for (unsigned i = 0; i < rank && i < kMaxRank; ++i) product *= extents[i];
    return product;
  }
  std::uint64_t bytes() const noexcept { return count() * size_of(dtype); }

  // The same data without extents of 1 (at least one extent stays): what decides between 1D, 2D and 3D
  // coding.
  Field without_unit_extents() const noexcept;
  std::string shape_text() const;  // "100x500x500"

  friend bool operator==(const Field&, const Field&) = default;
};

}  // namespace homz
