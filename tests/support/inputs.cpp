#include "tests/support/inputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>

#include "core/bits.hpp"

namespace homz::test {
namespace {

// What a generator makes: values, and the fill value to declare.
template <class T>
struct Made {
  std::vector<T> values;
  std::optional<T> fill;
};

template <class T>
constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
template <class T>
constexpr T kInf = std::numeric_limits<T>::infinity();
template <class T>
constexpr T kMax = std::numeric_limits<T>::max();

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t bits() { return engine_(); }
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  double normal() {  // Irwin and Hall: twelve uniforms
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }

 private:
  std::mt19937_64 engine_;
};

template <class T, class F>
std::vector<T> tabulate(std::uint64_t count, F f) {
  std::vector<T> values(count);
  for (std::uint64_t i = 0; i < count; ++i) values[i] = static_cast<T>(f(i));
  return values;
}

template <class T>
std::vector<T> sine(std::uint64_t count) {
  return tabulate<T>(count, [](std::uint64_t i) { return 3 * std::sin(0.01 * static_cast<double>(i)) + 1; });
}

// Sine with `put(i, value)` applied to every value.
template <class T, class F>
std::vector<T> altered_sine(std::uint64_t count, F put) {
  std::vector<T> values = sine<T>(count);
  for (std::uint64_t i = 0; i < count; ++i) put(i, values[i]);
  return values;
}

// True for a connected 40 % of the field: a disc that moves along the rows of 360.
bool is_land(std::uint64_t i) {
  const double y = static_cast<double>(i / 360 % 180) - 90, x = static_cast<double>(i % 360) - 180;
  return x * x / 4 + y * y < 64 * 64;
}

// Signalling, quiet, negative, with payloads.
template <class T>
T odd_nan(std::uint64_t i) {
  constexpr BitsOf<T> kExponent = BitsOf<T>(__builtin_bit_cast(BitsOf<T>, kInf<T>));
  const BitsOf<T> payload = static_cast<BitsOf<T>>(1 + i % 1000);
  const BitsOf<T> sign = static_cast<BitsOf<T>>(i % 2) << (8 * sizeof(T) - 1);
  return value_of<T>(kExponent | payload | sign);
}

template <class T>
Made<T> make(std::string_view name, std::uint64_t count) {
  Random random(name.size() * 1000 + sizeof(T));
  const auto at = [](std::uint64_t i) { return static_cast<double>(i); };

  if (name == "zeros") return {std::vector<T>(count), {}};
  if (name == "signed_zeros")
    return {tabulate<T>(count, [](std::uint64_t i) { return i % 3 == 0 ? -0.0 : 0.0; }), {}};
  if (name == "constant") return {std::vector<T>(count, T(7.25)), {}};
  if (name == "constant_subnormal")
    return {std::vector<T>(count, std::numeric_limits<T>::denorm_min() * 1000), {}};
  if (name == "ramp") return {tabulate<T>(count, at), {}};
  if (name == "steep_ramp") return {tabulate<T>(count, [&](std::uint64_t i) { return 1e6 * at(i); }), {}};
  if (name == "sine") return {sine<T>(count), {}};
  if (name == "normal") return {tabulate<T>(count, [&](std::uint64_t) { return random.normal(); }), {}};
  if (name == "walk") {
    double x = 0;
    return {tabulate<T>(count, [&](std::uint64_t) { return x += 0.01 * random.normal(); }), {}};
  }
  if (name == "random_bits") {
    std::vector<T> values(count);
    for (T& value : values) value = value_of<T>(static_cast<BitsOf<T>>(random.bits()));
    return {values, {}};
  }
  if (name == "nan_first")
    return {altered_sine<T>(count,
                            [](std::uint64_t i, T& x) {
                              if (i == 0) x = kNan<T>;
                            }),
            {}};
  if (name == "nan_last")
    return {altered_sine<T>(count,
                            [&](std::uint64_t i, T& x) {
                              if (i + 1 == count) x = kNan<T>;
                            }),
            {}};
  if (name == "nan_tenth")
    return {altered_sine<T>(count,
                            [&](std::uint64_t, T& x) {
                              if (random.below(10) == 0) x = kNan<T>;
                            }),
            {}};
  if (name == "nan_all") return {std::vector<T>(count, kNan<T>), {}};
  if (name == "nan_odd")
    return {altered_sine<T>(count,
                            [](std::uint64_t i, T& x) {
                              if (i % 7 == 3) x = odd_nan<T>(i);
                            }),
            {}};
  if (name == "infinities")
    return {altered_sine<T>(count,
                            [](std::uint64_t i, T& x) {
                              if (i % 50 < 2) x = i % 50 == 0 ? kInf<T> : -kInf<T>;
                            }),
            {}};
  if (name == "subnormals")
    return {tabulate<T>(count,
                        [&](std::uint64_t) {
                          return static_cast<T>(random.below(2001)) * std::numeric_limits<T>::denorm_min() *
                                 (random.below(2) ? 1 : -1);
                        }),
            {}};
  if (name == "extremes")
    return {tabulate<T>(count, [](std::uint64_t i) { return i % 2 ? kMax<T> : -kMax<T>; }), {}};
  if (name == "alternating")
    return {tabulate<T>(count, [&](std::uint64_t i) { return (i % 2 ? 1 : -1) * (1e6 + at(i % 5)); }), {}};
  if (name == "large_offset")
    return {tabulate<T>(count, [&](std::uint64_t) { return 1e8 + 40 * random.normal(); }), {}};
  if (name == "bin_edges")  // of bounds 1e-3 and 2^-10, and one unit in the last place to each side
    return {tabulate<T>(count,
                        [&](std::uint64_t i) {
                          const double step = i % 2 ? 2e-3 : 0x1p-9;
                          const T edge =
                              static_cast<T>((static_cast<double>(random.below(2000)) - 1000 + 0.5) * step);
                          return i % 3 == 0 ? edge : std::nextafter(edge, i % 3 == 1 ? kInf<T> : -kInf<T>);
                        }),
            {}};
  if (name == "outlier")
    return {tabulate<T>(count, [&](std::uint64_t i) { return i == count / 2 ? 1e10 : 7.25; }), {}};
  if (name == "log_uniform")
    return {tabulate<T>(count,
                        [&](std::uint64_t i) {
                          return i % 11 == 0
                                     ? 0
                                     : (random.below(2) ? 1 : -1) * std::pow(10.0, 12 * random.uniform() - 6);
                        }),
            {}};
  if (name == "all_scales")
    return {tabulate<T>(count,
                        [&](std::uint64_t) {
                          return (random.below(2) ? 1 : -1) * std::pow(10.0, 74 * random.uniform() - 37);
                        }),
            {}};
  if (name == "fill_blocks")
    return {altered_sine<T>(count,
                            [](std::uint64_t i, T& x) {
                              if (i / 300 % 3 == 1) x = T(9.96921e36f);
                            }),
            T(9.96921e36f)};
  if (name == "fill_undeclared")
    return {altered_sine<T>(count,
                            [](std::uint64_t i, T& x) {
                              if (i / 100 % 4 == 1) x = T(-1e34);
                            }),
            {}};
  if (name == "fill_nan")
    return {altered_sine<T>(count,
                            [](std::uint64_t i, T& x) {
                              if (i / 90 % 3 == 1) x = kNan<T>;
                            }),
            kNan<T>};
  if (name == "fill_all") return {std::vector<T>(count, T(-9999)), T(-9999)};
  if (name == "fill_unused") return {sine<T>(count), T(-99.9)};
  if (name == "coast")
    return {tabulate<T>(count,
                        [&](std::uint64_t i) {
                          return is_land(i)
                                     ? T(1e35)
                                     : 16 * std::sin(at(i % 360) / 40) * std::cos(at(i / 360 % 180) / 30);
                        }),
            T(1e35)};
  std::fprintf(stderr, "no input is named %.*s\n", static_cast<int>(name.size()), name.data());
  std::abort();
}

}  // namespace

std::vector<std::string_view> input_names() {
  return {"zeros",       "signed_zeros",
          "constant",    "constant_subnormal",
          "ramp",        "steep_ramp",
          "sine",        "normal",
          "walk",        "random_bits",
          "nan_first",   "nan_last",
          "nan_tenth",   "nan_all",
          "nan_odd",     "infinities",
          "subnormals",  "extremes",
          "alternating", "large_offset",
          "bin_edges",   "outlier",
          "log_uniform", "all_scales",
          "fill_blocks", "fill_undeclared",
          "fill_nan",    "fill_all",
          "fill_unused", "coast"};
}

Sample make_sample(std::string_view input, Dtype dtype, std::vector<std::uint64_t> extents) {
  const Field field = *Field::make(dtype, extents);
  return with_dtype(dtype, [&](auto zero) {
    auto made = make<decltype(zero)>(input, field.count());
    return sample_of(std::string(input), made.values, extents, made.fill);
  });
}

Magnitudes magnitudes_of(const Sample& sample) {
  return with_dtype(sample.field.dtype, [&](auto zero) {
    using T = decltype(zero);
    double low = kInf<double>, high = -kInf<double>;
    for (std::uint64_t i = 0; i < sample.field.count(); ++i) {
      const T x = load_value<T>(sample.data.data() + i * sizeof(T));
      if (!std::isfinite(x) || (sample.fill_bits && bits_of(x) == *sample.fill_bits)) continue;
      low = std::min<double>(low, x);
      high = std::max<double>(high, x);
    }
    if (low > high) return Magnitudes{};
    return Magnitudes{std::min(high - low, kMax<double>), std::max(std::abs(low), std::abs(high))};
  });
}

std::vector<double> bounds_for(const Sample& sample) {
  const Magnitudes is = magnitudes_of(sample);
  std::vector<double> bounds = {
      1e-3, 0x1p-10, 1e30, 0x1p-149, std::numeric_limits<double>::denorm_min(), kMax<double>};
  for (const double part : {10.0, 1e-2, 1e-4, 0x1p-23, 0x1p-32, 0x1p-45, 0x1p-64})
    bounds.push_back(is.range * part);
  for (const double part : {0x1p-22, 0x1p-31, 0x1p-32, 0x1p-63}) bounds.push_back(is.largest * part);
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  std::erase_if(bounds, [](double bound) { return !(bound > 0) || !std::isfinite(bound); });
  return bounds;
}

std::vector<double> common_bounds_for(const Sample& sample) {
  const double range = magnitudes_of(sample).range;
  const double scale = range > 0 ? range : 1;
  return {std::max(1e-3 * scale, std::numeric_limits<double>::denorm_min()),
          std::max(1e-5 * scale, std::numeric_limits<double>::denorm_min())};
}

}  // namespace homz::test
