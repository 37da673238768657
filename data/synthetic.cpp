#include "data/synthetic.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "core/bits.hpp"
#include "core/threads.hpp"

namespace homz {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"normal", "walk", "longwalk", "smooth", "waves"};
constexpr std::uint64_t kSlice = 1 << 16;  // values a task: a multiple of kRestart and of 2
constexpr std::uint64_t kRestart = 1024;   // of `walk`
constexpr std::uint64_t kSmoothSide = 645;
constexpr double kStep = 0.01;
constexpr double kNoise = 1e-3;
constexpr double kTurn = 2 * std::numbers::pi;

// A random 64-bit number for each (stream, index): SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) at that
// index.
std::uint64_t random_bits(std::uint64_t stream, std::uint64_t index) {
  std::uint64_t z = (stream << 56) + (index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// In (0, 1]: a logarithm may be taken.
double uniform(std::uint64_t stream, std::uint64_t index) {
  return static_cast<double>((random_bits(stream, index) >> 11) + 1) * 0x1p-53;
}

// Values first..first+count-1 of an endless row of N(0, 1), by Box and Muller; first is even.
void normals(std::uint64_t first, std::uint64_t count, double* out) {
  for (std::uint64_t i = 0; i < count; i += 2) {
    const double radius = std::sqrt(-2 * std::log(uniform(1, first + i)));
    const double angle = kTurn * uniform(1, first + i + 1);
    out[i] = radius * std::cos(angle);
    if (i + 1 < count) out[i + 1] = radius * std::sin(angle);
  }
}

std::uint64_t cube_side(std::uint64_t count) {  // smallest s with s^3 >= count
  auto side = static_cast<std::uint64_t>(std::cbrt(static_cast<double>(count)));
  while (side * side * side < count) ++side;
  while (side > 1 && (side - 1) * (side - 1) * (side - 1) >= count) --side;
  return side;
}

// A sum of plane waves amplitude * sin(kx x + ky y + kz z + phase): sines are taken a row, not a value, at a
// time.
class PlaneWaves {
 public:
  struct Wave {
    double amplitude, kx, ky, kz, phase;
  };

  PlaneWaves(std::vector<Wave> waves, std::uint64_t side) : waves_(std::move(waves)), side_(side) {
    for (const Wave& wave : waves_)
      for (std::uint64_t x = 0; x < side_; ++x) {
        sines_.push_back(std::sin(wave.kx * static_cast<double>(x)));
        cosines_.push_back(std::cos(wave.kx * static_cast<double>(x)));
      }
  }

  void values(std::uint64_t first, std::uint64_t count, double* out) const {
    for (std::uint64_t done = 0; done < count;) {
      const std::uint64_t x = (first + done) % side_, row = (first + done) / side_;
      const std::uint64_t length = std::min(side_ - x, count - done);
      std::fill_n(out + done, length, 0.0);
      for (std::size_t w = 0; w < waves_.size(); ++w) add_row(w, row, x, length, out + done);
      done += length;
    }
  }

 private:
  void add_row(std::size_t w, std::uint64_t row, std::uint64_t x, std::uint64_t length, double* out) const {
    const Wave& wave = waves_[w];
    const double phase =
        wave.ky * static_cast<double>(row % side_) + wave.kz * static_cast<double>(row / side_) + wave.phase;
    const double s = wave.amplitude * std::sin(phase), c = wave.amplitude * std::cos(phase);
    const double *sines = &sines_[w * side_ + x], *cosines = &cosines_[w * side_ + x];
    for (std::uint64_t i = 0; i < length; ++i) out[i] += s * cosines[i] + c * sines[i];
  }

  std::vector<Wave> waves_;
  std::uint64_t side_;
  std::vector<double> sines_, cosines_;  // side_ values a wave
};

// sin(0.031 x) cos(0.017 y) + 0.5 sin(0.011 z + 0.003 x); the product is two waves of half the amplitude.
PlaneWaves smooth_waves() {
  return PlaneWaves({{0.5, 0.031, 0.017, 0, 0}, {0.5, 0.031, -0.017, 0, 0}, {0.5, 0.003, 0, 0.011, 0}},
                    kSmoothSide);
}

PlaneWaves six_waves(std::uint64_t side) {
  const double turn = kTurn / static_cast<double>(side);
  return PlaneWaves({{1.00, 1 * turn, 0, 0, 0.3},
                     {0.60, 0, 2 * turn, 1 * turn, 1.1},
                     {0.40, 3 * turn, -4 * turn, 0, 2.0},
                     {0.25, 0, 5 * turn, 8 * turn, 0.7},
                     {0.15, 9 * turn, 0, -12 * turn, 1.9},
                     {0.10, 14 * turn, 14 * turn, 11 * turn, 2.6}},
                    side);
}

// Runs make(first, length, values) over all slices and stores what it writes, rounded to T.
template <class T, class Make>
void for_slices(std::uint64_t count, std::byte* out, unsigned threads, Make make) {
  parallel_for(ceil_div(count, kSlice), threads, [&](std::uint64_t slice) {
    const std::uint64_t first = slice * kSlice, length = std::min(kSlice, count - first);
    std::vector<double> values(length);
    make(first, length, values.data());
    for (std::uint64_t i = 0; i < length; ++i)
      store_value(out + (first + i) * sizeof(T), static_cast<T>(values[i]));
  });
}

void restarted_walk(std::uint64_t first, std::uint64_t count, double* out) {
  normals(first, count, out);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = first + i;
    const double before =
        at % kRestart == 0 ? 10 * std::sin(1e-4 * static_cast<double>(at / kRestart)) : out[i - 1];
    out[i] = before + kStep * out[i];
  }
}

// Where the endless walk stands at the start of each slice.
std::vector<double> walk_starts(std::uint64_t count, unsigned threads) {
  std::vector<double> starts(ceil_div(count, kSlice) + 1);
  parallel_for(count / kSlice, threads, [&](std::uint64_t slice) {
    std::vector<double> steps(kSlice);
    normals(slice * kSlice, kSlice, steps.data());
    for (const double step : steps) starts[slice + 1] += kStep * step;
  });
  for (std::size_t slice = 1; slice < starts.size(); ++slice) starts[slice] += starts[slice - 1];
  return starts;
}

template <class T>
void generate_as(Synthetic kind, std::uint64_t count, std::byte* out, unsigned threads) {
  switch (kind) {
    case Synthetic::normal:
      return for_slices<T>(count, out, threads, normals);
    case Synthetic::walk:
      return for_slices<T>(count, out, threads, restarted_walk);
    case Synthetic::longwalk: {
      const std::vector<double> starts = walk_starts(count, threads);
      return for_slices<T>(count, out, threads,
                           [&](std::uint64_t first, std::uint64_t length, double* values) {
                             normals(first, length, values);
                             double at = starts[first / kSlice];
                             for (std::uint64_t i = 0; i < length; ++i) values[i] = at += kStep * values[i];
                           });
    }
    case Synthetic::smooth: {
      const PlaneWaves waves = smooth_waves();
      return for_slices<T>(count, out, threads,
                           [&](std::uint64_t first, std::uint64_t length, double* values) {
                             waves.values(first, length, values);
                             for (std::uint64_t i = 0; i < length; ++i)
                               values[i] += kNoise * (uniform(2, first + i) - 0.5);
                           });
    }
    case Synthetic::waves: {
      const PlaneWaves waves = six_waves(cube_side(count));
      return for_slices<T>(count, out, threads,
                           [&](std::uint64_t first, std::uint64_t length, double* values) {
                             std::vector<double> noise(length);
                             normals(first, length, noise.data());
                             waves.values(first, length, values);
                             for (std::uint64_t i = 0; i < length; ++i) values[i] += kNoise * noise[i];
                           });
    }
  }
}

}  // namespace

std::string_view to_string(Synthetic kind) noexcept {
  return kNames[static_cast<std::size_t>(kind)];
}

Result<Synthetic> parse_synthetic(std::string_view name) {
  for (const Synthetic kind : kSynthetics)
    if (to_string(kind) == name) return kind;
  return Status(Code::invalid_argument,
                fmt::format("'{}' is no synthetic field; there are {}", name, fmt::join(kNames, ", ")));
}

Field natural_field(Synthetic kind, Dtype dtype, std::uint64_t count) {
  constexpr std::uint64_t kPlane = kSmoothSide * kSmoothSide;
  if (kind == Synthetic::smooth && count >= kPlane)
    return Field{dtype, 3, {count / kPlane, kSmoothSide, kSmoothSide, 0}};
  if (kind == Synthetic::smooth && count >= kSmoothSide)
    return Field{dtype, 2, {count / kSmoothSide, kSmoothSide, 0, 0}};
  if (kind == Synthetic::waves) {
    const std::uint64_t side = cube_side(count + 1) - 1;  // largest s with s^3 <= count
    return Field{dtype, 3, {side, side, side, 0}};
  }
  return Field::flat(dtype, count);
}

void generate(Synthetic kind, Dtype dtype, std::uint64_t count, Bytes out, unsigned threads) {
  with_dtype(dtype, [&](auto zero) { generate_as<decltype(zero)>(kind, count, out.data(), threads); });
}

}  // namespace homz
