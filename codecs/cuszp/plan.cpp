#include "codecs/cuszp/plan.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/bits.hpp"

namespace homz::cuszp {
namespace {

constexpr std::size_t kStepAt = 8;

const char* name_of(bool v1) {
  return v1 ? "cuszp" : "cuszp2";
}

}  // namespace

CodecParams pack(const Plan& plan) {
  const auto never_stored = static_cast<std::byte>(plan.never_stored);
  CodecParams params{never_stored};
  if (!plan.v1) params = {static_cast<std::byte>(plan.mode), static_cast<std::byte>(plan.dim), never_stored};
  store_le(params.data() + kStepAt, bits_of(plan.step));
  return params;
}

Result<Plan> unpack(const CodecParams& params, bool v1) {
  const double step = value_of<double>(load_le<std::uint64_t>(params.data() + kStepAt));
  const Plan plan = v1 ? Plan{Mode::plain, 1, true, params[0] == std::byte{1}, step}
                       : Plan{static_cast<Mode>(params[0]), std::to_integer<unsigned>(params[1]), false,
                              params[2] == std::byte{1}, step};
  const bool is_step = step >= 0 && std::isfinite(step) && !std::signbit(step);
  if (plan.mode > Mode::outlier || plan.dim > 3 || !is_step || pack(plan) != params)
    return Status(Code::invalid_argument, fmt::format("{}: parameters of no known meaning", name_of(v1)));
  return plan;
}

std::string step_text(const Plan& plan) {
  return plan.step != 0 ? fmt::format(",step={}", plan.step) : std::string();
}

Result<Plan> plan_of(const Encoding& encoding, bool v1) {
  HOMZ_ASSIGN(Plan plan, unpack(encoding.params, v1));
  const unsigned rank = encoding.field.without_unit_extents().rank;
  if (plan.dim > rank)
    return Status(Code::invalid_argument,
                  fmt::format("{}: dim={} for a field of shape {}, which has {} extents other than 1; "
                              "give dim=auto, or at most {}",
                              name_of(v1), plan.dim, encoding.field.shape_text(), rank, rank));
  plan.never_stored |= encoding.always_coded;
  return plan;
}

}  // namespace homz::cuszp
