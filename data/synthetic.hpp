// Synthetic fields for benchmarks and tests, as published measurements of compressors use them: the same
// values on every run and for any number of threads. data/README.md tells how each kind is made.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/field.hpp"
#include "core/memory.hpp"
#include "core/status.hpp"

namespace homz {

enum class Synthetic : std::uint8_t {
  normal,    // 1D: independent N(0, 1)
  walk,      // 1D: random walk of steps N(0, 0.01), restarted every 1024 values around a slow sine
  longwalk,  // 1D: the same steps, never restarted
  smooth,    // 3D: products and sums of sines on planes of 645 x 645, noise of 1e-3
  waves,     // 3D: six plane waves of 1 to 23 periods on a cube, N(0, 1) noise of 1e-3
};

inline constexpr std::array kSynthetics = {Synthetic::normal, Synthetic::walk, Synthetic::longwalk,
                                           Synthetic::smooth, Synthetic::waves};

std::string_view to_string(Synthetic kind) noexcept;
Result<Synthetic> parse_synthetic(std::string_view name);  // the error lists the names

// The largest field of this kind's own shape with at most `count` values (count > 0): all of them in 1D,
// whole planes or rows of 645 for smooth, a cube for waves.
Field natural_field(Synthetic kind, Dtype dtype, std::uint64_t count);

// Writes the first `count` values, computed in double and rounded to the type, to `out` (exactly count
// values, any alignment). Waves are drawn on the smallest cube that holds `count`. threads = 0: one a core.
void generate(Synthetic kind, Dtype dtype, std::uint64_t count, Bytes out, unsigned threads);

}  // namespace homz
