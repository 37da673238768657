// The input families of the golden tables, bit for bit those of generate.py: integers scaled by powers of
// two.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace homz::golden {

class Lcg {  // Knuth's MMIX generator; the top bits are the good ones
 public:
  explicit Lcg(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next(unsigned bits) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return state_ >> (64 - bits);
  }
  double next_signed(unsigned bits) {
    const auto value = static_cast<std::int64_t>(next(bits));
    return static_cast<double>(value >> (bits - 1) != 0 ? value - (std::int64_t{1} << bits) : value);
  }

 private:
  std::uint64_t state_;
};

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kSpecial[] = {kNaN,  kInfinity,     -kInfinity,   -0.0, 1.0,      3e9,
                                      -1e10, -2147483648.0, 2147483647.0, 1e30, 0x1p-149, -0.5};
inline constexpr double kExtreme[] = {-1.0, 3e9, 0.0, 2147483648.0, -2147483648.0, 2.0};

// Planes with a slope along each of the last three extents.
inline double grid(std::uint64_t i, std::span<const std::uint64_t> extents) {
  const auto from_fastest = [&](std::size_t k) {
    return k < extents.size() ? extents[extents.size() - 1 - k] : 1;
  };
  const std::uint64_t dx = from_fastest(0), dy = from_fastest(1), dz = from_fastest(2);
  return static_cast<double>(1000 + 50 * (i / (dx * dy) % dz) + 20 * (i / dx % dy) + 3 * (i % dx));
}

// NaN for a name that is no family.
inline std::vector<double> family(std::string_view name, std::span<const std::uint64_t> extents,
                                  std::uint64_t seed) {
  std::uint64_t count = 1;
  for (const std::uint64_t extent : extents) count *= extent;
  std::vector<double> values(count);
  Lcg lcg(seed);
  double level = 0;
  const auto value = [&](std::uint64_t i) -> double {
    if (name == "zeros") return 0;
    if (name == "minus300") return -300;
    if (name == "ramp") return (static_cast<double>(i) - static_cast<double>(count / 2)) * 0.375;
    if (name == "saw") return i < 32 ? 95 + static_cast<double>(7 * i % 11) : 200;
    if (name == "grid") return grid(i, extents);
    if (name == "walk") return (level += static_cast<double>(lcg.next(4)) - 8) / 64;
    if (name == "random") return lcg.next_signed(32) / 65536;
    if (name == "noise") return lcg.next_signed(12) / 256;
    if (name == "sparse") return lcg.next(4) == 0 ? lcg.next_signed(16) / 8 : 0;
    if (name == "big") {
      const double mantissa = lcg.next_signed(20);
      return std::ldexp(mantissa, static_cast<int>(lcg.next(6)) - 16);
    }
    if (name == "special") return lcg.next(2) == 0 ? kSpecial[lcg.next(16) % 12] : lcg.next_signed(12) / 16;
    if (name == "extreme") return kExtreme[lcg.next(16) % 6];
    return kNaN;
  };
  for (std::uint64_t i = 0; i < count; ++i) values[i] = value(i);
  return values;
}

}  // namespace homz::golden
