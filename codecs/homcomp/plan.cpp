#include "codecs/homcomp/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/bits.hpp"

namespace homz::homcomp {
namespace {

constexpr std::size_t kStepAt = 8;

}  // namespace

CodecParams pack(const Settings& settings) {
  CodecParams params{static_cast<std::byte>(settings.dim), static_cast<std::byte>(settings.no_magnitude)};
  store_le(params.data() + kStepAt, bits_of(settings.step));
  return params;
}

Result<Settings> unpack(const CodecParams& params) {
  const Settings settings{std::to_integer<unsigned>(params[0]), params[1] == std::byte{1},
                          value_of<double>(load_le<std::uint64_t>(params.data() + kStepAt))};
  const bool is_step = settings.step >= 0 && std::isfinite(settings.step) && !std::signbit(settings.step);
  if (settings.dim > 3 || !is_step || pack(settings) != params)
    return Status(Code::invalid_argument, "homcomp: parameters of no known meaning");
  return settings;
}

Result<Plan> plan_of(const Encoding& encoding) {
  HOMZ_ASSIGN(const Settings settings, unpack(encoding.params));
  const unsigned rank = encoding.field.without_unit_extents().rank;
  if (settings.dim > rank)
    return Status(Code::invalid_argument,
                  fmt::format("homcomp: dim={} for a field of shape {}, which has {} extents other than 1; "
                              "give dim=auto, or at most {}",
                              settings.dim, encoding.field.shape_text(), rank, rank));
  const unsigned dim = settings.dim != 0 ? settings.dim : std::min(rank, 3u);
  return Plan{dim, !settings.no_magnitude, settings.step};
}

}  // namespace homz::homcomp
