// The GPU makes the host's bytes and restores the host's values: every codec that codes there, with every
// option, for every input.
#include <gtest/gtest.h>

#include "tests/gpu/support.hpp"
#include "tests/support/choices.hpp"

namespace homz::test {
namespace {

class SameBytes : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Codecs, SameBytes, testing::ValuesIn(gpu_choices()),
                         [](const auto& info) { return test_name(info.param); });

constexpr Dtype kDtypes[] = {Dtype::f32, Dtype::f64};

bool is_lossless(const std::string& choice) {
  return choice_of(choice).codec->info().lossless;
}

TEST_P(SameBytes, ForEveryInputAndBound) {
  HOMZ_NEEDS_GPU();
  const std::vector<std::vector<std::uint64_t>> shapes = {{40013}, {133, 301}, {11, 41, 89}};
  for (const std::string_view input : input_names())
    for (const Dtype dtype : kDtypes)
      for (const auto& extents : shapes) {
        const Sample sample = make_sample(input, dtype, extents);
        for (const double bound : is_lossless(GetParam()) ? std::vector{0.0} : bounds_for(sample)) {
          check_same(GetParam(), sample, bound);
          if (HasFailure()) return;
        }
      }
}

TEST_P(SameBytes, ForEverySize) {
  HOMZ_NEEDS_GPU();
  for (const Dtype dtype : kDtypes)
    for (std::uint64_t count = 0; count <= 5000; count += count < 300 ? 1 : 97) {
      check_same(GetParam(), make_sample("walk", dtype, {count}), 1e-3);
      check_same(GetParam(), make_sample("nan_tenth", dtype, {count}), 1e-3);
      if (HasFailure()) return;
    }
}

// Around the borders of tiles and of segments of the exception list.
TEST_P(SameBytes, AroundBorders) {
  HOMZ_NEEDS_GPU();
  for (const std::uint64_t border : {8192u, 32768u, 65536u, 131072u})
    for (const std::uint64_t count : {border - 33, border - 1, border, border + 1, border + 40})
      for (const std::string_view input :
           {"walk", "nan_all", "nan_tenth", "fill_blocks", "coast", "random_bits"}) {
        check_same(GetParam(), make_sample(input, Dtype::f32, {count}), 1e-3);
        if (HasFailure()) return;
      }
}

TEST_P(SameBytes, ForOddShapes) {
  HOMZ_NEEDS_GPU();
  const std::vector<std::vector<std::uint64_t>> shapes = {
      {1, 1},       {1, 7},         {7, 1},      {2, 2},       {3, 3},       {8, 8},
      {9, 17},      {64, 64},       {1000, 3},   {3, 1000},    {31, 33},     {2, 3, 4},
      {4, 4, 4},    {5, 5, 5},      {1, 100, 7}, {64, 64, 64}, {33, 2, 129}, {17, 19, 23},
      {2, 3, 5, 7}, {4, 8, 16, 12}, {127, 130},  {16, 1024},   {3, 300, 301}};
  for (const auto& extents : shapes)
    for (const Dtype dtype : kDtypes)
      for (const std::string_view input : {"sine", "nan_tenth", "fill_blocks", "large_offset"}) {
        check_same(GetParam(), make_sample(input, dtype, extents), 1e-3);
        if (HasFailure()) return;
      }
}

TEST_P(SameBytes, WhateverTheAlignmentAndTheMemoryHeld) {
  HOMZ_NEEDS_GPU();
  for (const unsigned misalign : {8u, 16u, 40u, 104u})
    for (const std::string_view input :
         {"walk", "nan_tenth", "constant", "fill_all", "fill_blocks", "random_bits"}) {
      const GpuVariation how{misalign, misalign % 16 == 0 ? std::byte{0xff} : std::byte{0}};
      check_same(GetParam(), make_sample(input, Dtype::f32, {50, 401}), 1e-3, how);
      if (HasFailure()) return;
    }
}

}  // namespace
}  // namespace homz::test
