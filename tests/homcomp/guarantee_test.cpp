// What the guarantee costs: the same coder, with and without values that must be stored exactly. The bound of
// the second is so much larger that nothing ever fails, and the step is that of the first.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "core/bound_check.hpp"
#include "tests/homcomp/coding.hpp"
#include "tests/support/guarded.hpp"

namespace homz::test {
namespace {

double price(const Sample& sample, double bound, bool use_magnitude) {
  homcomp::Plan plan = plan_for(sample.field);
  plan.use_magnitude = use_magnitude;
  const Payload kept = make_payload(sample, bound, plan, homcomp::kernels());
  plan.step = largest_not_above<float>(2 * bound);
  const Payload free = make_payload(sample, 4 * bound, plan, homcomp::kernels());
  EXPECT_FALSE(free.empty());
  return kept.empty() ? 1 : static_cast<double>(kept.size()) / static_cast<double>(free.size()) - 1;
}

TEST(Guarantee, CostsAtMostOnePercent) {
  for (const std::string_view input : {"sine", "normal", "walk", "coast"}) {
    const Sample sample = make_sample(input, Dtype::f32, {kSanitized ? 50000u : 400000u});
    const Magnitudes is = magnitudes_of(sample);
    for (const double part : {1e-2, 1e-3, 1e-4, 1e-5, 1e-6}) {
      const double bound = part * is.range;
      if (bound < 4 * is.largest * 0x1p-24) continue;  // below the precision of the values themselves
      const double with = price(sample, bound, true), without = price(sample, bound, false);
      std::printf("%-14s %.0e of the range: %+.3f %% (magnitude=none: %+.3f %%)\n", sample.name.c_str(), part,
                  100 * with, 100 * without);
      EXPECT_LE(with, 0.01) << input << ", " << part;
    }
  }
}

}  // namespace
}  // namespace homz::test
