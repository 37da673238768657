// The options of homcomp: what they mean, how they are told, and which are refused.
#include <gtest/gtest.h>

#include <cstdlib>

#include "codecs/builtin.hpp"
#include "tests/homcomp/coding.hpp"
#include "tests/support/round_trip.hpp"

namespace homz::test {
namespace {

double step_of(const std::string& choice, const Sample& sample, double bound) {
  const Outcome encoded = encode(compression_of(choice, sample, bound), sample.bytes());
  EXPECT_TRUE(encoded.status.ok()) << encoded.status.message();
  return value_of<double>(load_le<std::uint64_t>(&encoded.bytes.at(StreamHeader::kBytes)));
}

TEST(Options, AreToldAsTheyAreGiven) {
  const Codec& codec = *homcomp_codec();
  for (const char* text :
       {"", "dim=2", "dim=3,magnitude=none", "step=0.002", "step=1e-300", "dim=1,step=3"}) {
    const auto params = codec.parse(text);
    ASSERT_TRUE(params.ok()) << text;
    const auto told = codec.describe(*params);
    ASSERT_TRUE(told.ok()) << told.status().message();
    EXPECT_EQ(*codec.parse(*told), *params) << *told;
  }
  for (const char* text :
       {"dim=4", "dim=0", "magnitude=1", "step=0", "step=-1", "step=nan", "step=inf", "step=", "x=1"})
    EXPECT_EQ(codec.parse(text).status().code(), Code::invalid_argument) << text;
}

TEST(Options, TheStepIsTheGivenOneInTheTypeOfTheField) {
  const Sample f32 = make_sample("walk", Dtype::f32, {5000}), f64 = make_sample("walk", Dtype::f64, {5000});
  EXPECT_EQ(step_of("homcomp:step=0.125", f32, 0.1), 0.125);
  EXPECT_EQ(step_of("homcomp:step=0.1", f64, 0.1), 0.1);
  EXPECT_LT(step_of("homcomp:step=0.1", f32, 0.1), 0.1);  // rounded down
  EXPECT_EQ(step_of("homcomp:magnitude=none", f64, 0.1), 0.2);
  EXPECT_LT(step_of("homcomp", f64, 0.1), 0.2);
  for (const char* choice : {"homcomp:step=1e-60", "homcomp:step=1e60"})
    EXPECT_EQ(footprint(compression_of(choice, f32, 0.1), host()).status().code(), Code::invalid_argument)
        << choice;
}

TEST(Options, AStepThatDoesNotSuitTheBoundKeepsIt) {
  for (const char* choice : {"homcomp:step=1e-30", "homcomp:step=0.3", "homcomp:step=1e30", "homcomp:step=7"})
    for (const std::string_view input : {"sine", "coast", "nan_tenth"})
      check_round_trip(choice, make_sample(input, Dtype::f32, {70, 90}), 0.1);
}

}  // namespace
}  // namespace homz::test
