// Streams whose bytes never change: inputs made of whole numbers and powers of two, so that every machine has
// them.
#include <gtest/gtest.h>

#include <cstdio>

#include "core/checksum.hpp"
#include "tests/golden/inputs.hpp"
#include "tests/homcomp/coding.hpp"

namespace homz::test {
namespace {

struct Golden {
  const char* input;
  std::vector<std::uint64_t> extents;
  double bound;
  std::size_t bytes_f32, bytes_f64;
  std::uint64_t checksum_f32, checksum_f64;
};

const Golden kGolden[] = {
    {"ramp", {1}, 0x1p-7, 0, 0, 0xa706dd2f4d197e6fu, 0xa706dd2f4d197e6fu},
    {"ramp", {33}, 0x1p-7, 100, 100, 0x9bb35d28e38fa9b9u, 0xaf96bd6e99cd83a7u},
    {"walk", {4096}, 0x1p-7, 2708, 2708, 0x5713ac3b55d61e7fu, 0x40846ab096fbe9d1u},
    {"walk", {70000}, 0x1p-7, 45340, 45256, 0x5ee26e957f12588eu, 0x7469a6d016d76d1cu},
    {"noise", {5000}, 0x1p-7, 6532, 6532, 0xa6c96b03f352ac2fu, 0x91e942bc221216c7u},
    {"sparse", {4097}, 0x1p-7, 9076, 9060, 0x7075e897d301a6e0u, 0xe8ba8cface6543d6u},
    {"big", {9000}, 0x1p-2, 0, 0, 0xa706dd2f4d197e6fu, 0xa706dd2f4d197e6fu},
    {"special", {5000}, 0x1p-7, 13008, 16352, 0xdd9c64bc35922919u, 0xd95281152868d73eu},
    {"grid", {130, 75}, 0x1p-7, 9296, 8764, 0xaffaa05b51782ce5u, 0xf9d0efd55b218e51u},
    {"walk", {64, 64}, 0x1p-7, 3128, 3128, 0xb1addf281f7d9570u, 0xef37f4a61860cb70u},
    {"noise", {3, 1000}, 0x1p-7, 3928, 3928, 0x45f0c52d95bc9ec9u, 0x094ff20105a082b8u},
    {"grid", {20, 33, 50}, 0x1p-7, 18696, 14672, 0xe627b0fdf62b9dfdu, 0x3e8cd391a4407356u},
    {"walk", {40, 3, 3, 3}, 0x1p-7, 1280, 1280, 0x5b57bc5e17ca2ceeu, 0x89e2e737393d55feu},
    {"sparse", {5, 17, 18, 19}, 0x1p-7, 60932, 60784, 0x6456a1f250b6cf07u, 0xf61b9040c971c283u},
    {"random", {17, 40, 16}, 0x1p-2, 23760, 23584, 0x7ec623760dd7b804u, 0x331daab71bf37375u},
};

template <class T>
void check(const Golden& golden, std::size_t bytes, std::uint64_t expected) {
  std::vector<T> values;
  for (const double value : golden::family(golden.input, golden.extents, 11))
    values.push_back(static_cast<T>(value));
  const Sample sample = sample_of(golden.input, values, golden.extents);
  for (const homcomp::Kernels* kernels : homcomp::available_kernels()) {
    const Payload payload = make_payload(sample, golden.bound, plan_for(sample.field), *kernels);
    EXPECT_EQ(payload.size(), bytes) << golden.input << " " << sample.field.shape_text() << " "
                                     << kernels->name;
    EXPECT_EQ(checksum(payload), expected) << golden.input << " " << sample.field.shape_text();
    if (payload.size() != bytes || checksum(payload) != expected)
      std::printf("GOLDEN %s %s %s %zu 0x%016llx\n", golden.input, sample.field.shape_text().c_str(),
                  to_string(dtype_of<T>()).data(), payload.size(),
                  static_cast<unsigned long long>(checksum(payload)));
  }
}

// The example of spec.md, byte for byte.
TEST(Golden, TheExampleOfTheSpecification) {
  std::vector<double> values(100, 77);
  for (std::size_t i = 0; i < 64; ++i)
    values[i] = i < 20 ? 7 : i < 41 ? 8 : 8 + 3 * (static_cast<double>(i) - 40);
  values[70] = golden::kNaN;
  values[99] = 78;
  const unsigned char expected[] = {
      0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf0, 0x3f, 0x26, 0xb1, 0x7b, 0x76, 0x7d, 0x62, 0x3f, 0x90, 0x00,
      0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xee, 0x96, 0x58, 0xf5, 0x27, 0xa2, 0x37, 0xc4, 0x0b, 0x00,
      0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x11, 0x07, 0x01, 0x00, 0x07, 0x00, 0x00, 0x00, 0x0f, 0x04, 0x12,
      0x80, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xfe, 0xff, 0xff, 0x00, 0xfe, 0xff, 0xff,
      0x40, 0x00, 0x00, 0x00, 0x10, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf8, 0x7f};
  const Payload payload =
      make_payload(sample_of("example", values), 0.5, homcomp::Plan{1, false, 0}, homcomp::kernels());
  ASSERT_EQ(payload.size(), sizeof(expected));
  EXPECT_EQ(std::memcmp(payload.data(), expected, sizeof(expected)), 0);
}

TEST(Golden, PayloadsAreThoseOfTheFirstRelease) {
  for (const Golden& golden : kGolden) {
    check<float>(golden, golden.bytes_f32, golden.checksum_f32);
    check<double>(golden, golden.bytes_f64, golden.checksum_f64);
  }
}

}  // namespace
}  // namespace homz::test
