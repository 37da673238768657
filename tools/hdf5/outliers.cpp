#include "tools/hdf5/outliers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace homz::hdf5 {
namespace {

constexpr double kWideGap = 20;       // times the width of the values on either side of it
constexpr double kFarAway = 10;       // times the width of all other values
constexpr std::size_t kOften = 1000;  // one value of so many in the sample
constexpr double kLongTail = 1000;    // times the width of the middle 96 % of the values

// Halved before the subtraction: the difference of two doubles can overflow.
double half_width(double low, double high) {
  return high / 2 - low / 2;
}

// True if one gap within the sorted values dwarfs the spread on both sides of it.
bool has_wide_gap(const std::vector<double>& sorted) {
  std::size_t widest = 1;
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (half_width(sorted[i - 1], sorted[i]) > half_width(sorted[widest - 1], sorted[widest])) widest = i;
  const double spread =
      std::max(half_width(sorted.front(), sorted[widest - 1]), half_width(sorted[widest], sorted.back()));
  return spread > 0 && half_width(sorted[widest - 1], sorted[widest]) > kWideGap * spread;
}

// True if nearly all values lie in a sliver of the range. Values equal to the median do not count: many
// fields are mostly zero.
bool has_long_tail(const std::vector<double>& sorted) {
  const double median = sorted[sorted.size() / 2];
  std::vector<double> others;
  std::copy_if(sorted.begin(), sorted.end(), std::back_inserter(others),
               [&](double x) { return x != median; });
  if (others.size() < 100) return false;
  const double middle =
      half_width(others[others.size() / 50], others[others.size() - 1 - others.size() / 50]);
  return middle > 0 && half_width(sorted.front(), sorted.back()) > kLongTail * middle;
}

// True if `extreme`, the first or last of the sorted values, returns often and lies far from all others: a
// marker.
bool is_sentinel(const std::vector<double>& sorted, double extreme) {
  const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), extreme);
  const auto copies = static_cast<std::size_t>(last - first);
  constexpr std::size_t kFewest = 3;  // one of them is the end of the range, which joined the sample
  if (copies < kFewest || copies * kOften < sorted.size() || copies == sorted.size()) return false;
  const bool low = first == sorted.begin();
  const double near = low ? *last : *std::prev(first), far = low ? sorted.back() : sorted.front();
  const double bulk = std::abs(half_width(near, far));
  return bulk > 0 && std::abs(half_width(extreme, near)) > kFarAway * bulk;
}

// The shortest text that is read back as the same value of the type.
std::string shortest(Dtype dtype, double value) {
  return dtype == Dtype::f32 ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
}

}  // namespace

std::string outlier_warning(Dtype dtype, const ValueRange& range, std::vector<double> sample,
                            double abs_error) {
  if (range.empty() || range.min == range.max) return "";
  sample.push_back(range.min);
  sample.push_back(range.max);
  std::sort(sample.begin(), sample.end());
  // The suspect is a marker, or the extreme of the greater magnitude: fill values are chosen to stand out.
  double suspect = std::abs(range.min) > std::abs(range.max) ? range.min : range.max;
  const double other = suspect == range.min ? range.max : range.min;
  if (!is_sentinel(sample, suspect)) {
    if (is_sentinel(sample, other))
      suspect = other;
    else if (!has_wide_gap(sample) && !has_long_tail(sample))
      return "";
  }
  const std::string name = shortest(dtype, suspect);
  return fmt::format(
      "outliers such as {} stretch the value range to {} .. {} (median {}): the resulting absolute bound is "
      "{}. If {} "
      "marks missing data, give --fill {}; else give an absolute bound",
      name, shortest(dtype, range.min), shortest(dtype, range.max),
      shortest(dtype, sample[sample.size() / 2]), abs_error, name, name);
}

}  // namespace homz::hdf5
