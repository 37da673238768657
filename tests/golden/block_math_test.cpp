// The block code against its definition, one bit at a time, and the layouts against theirs.
#include "codecs/cuszp/block_math.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "codecs/cuszp/layout.hpp"
#include "core/bound_check.hpp"
#include "tests/golden/inputs.hpp"

namespace homz::cuszp {
namespace {

using golden::kInfinity;
using golden::kNaN;
using golden::Lcg;

template <class T>
std::int32_t quantum(T x, double bound) {
  return static_cast<std::int32_t>(Quantiser<T>(bound).quantise(x));
}

template <class T>
class Quanta : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Quanta, Types);

TYPED_TEST(Quanta, RoundHalfAwayFromZeroButMinusOneHalfIsZero) {
  const auto q = [](double x) { return quantum(static_cast<TypeParam>(x), 0.5); };
  EXPECT_EQ(q(-0.5), 0);
  EXPECT_EQ(q(0.5), 1);
  EXPECT_EQ(q(-1.5), -2);
  EXPECT_EQ(q(2.5), 3);
  EXPECT_EQ(q(-2.5), -3);
  EXPECT_EQ(q(-0.0), 0);
}

TYPED_TEST(Quanta, SaturateAndThenWrap) {
  constexpr std::int32_t kMax = 0x7fffffff, kMin = -kMax - 1;
  const auto q = [](double x) { return quantum(static_cast<TypeParam>(x), 0.5); };
  EXPECT_EQ(q(3e9), kMax);
  EXPECT_EQ(q(kInfinity), kMax);
  EXPECT_EQ(q(-1e10), kMax);  // -2^31 less 1
  EXPECT_EQ(q(-kInfinity), kMax);
  EXPECT_EQ(q(kNaN), sizeof(TypeParam) == 4 ? -1 : kMax);
  EXPECT_EQ(q(2147483520.0), 2147483520);
  // In f32 adding 1/2 changes nothing here, so rounding down is one too far.
  EXPECT_EQ(q(-2147483520.0), sizeof(TypeParam) == 4 ? -2147483521 : -2147483520);
  EXPECT_EQ(q(-2147483648.0), sizeof(TypeParam) == 4 ? kMax : kMin);
}

TYPED_TEST(Quanta, AreDefinedForEveryBound) {
  for (const double bound : {5e-324, 1e-300, 1e-45, 1e-40, 1e300, 1.7976931348623157e308})
    for (const double x : {0.0, 1.0, -1.0, 1e30, kNaN, kInfinity}) {
      const Quantiser<TypeParam> quantiser(bound);
      quantiser.restore(quantiser.quantise(static_cast<TypeParam>(x)));  // under UBSan
    }
}

TEST(WithinBound, IsExactWhereTheDifferenceIsNot) {
  EXPECT_TRUE(within_bound(3, 2, 1));
  EXPECT_FALSE(within_bound(3, 2, 0x1.fffffffffffffp-1));
  EXPECT_FALSE(within_bound(1, -0x1p-60, 1));  // 1 + 2^-60, which rounds to 1
  EXPECT_FALSE(within_bound(-1, 0x1p-60, 1));
  EXPECT_FALSE(within_bound(-0x1p-60, 1, 1));
  EXPECT_TRUE(within_bound(1, 0x1p-60, 1));
  EXPECT_TRUE(within_bound(-1, -0x1p-60, 1));
  EXPECT_TRUE(within_bound(0x1p-60, 1, 1));
  for (const double odd : {kNaN, kInfinity, -kInfinity}) {
    EXPECT_FALSE(within_bound(odd, 1, 1));
    EXPECT_FALSE(within_bound(1, odd, 1));
    EXPECT_FALSE(within_bound(odd, odd, 1));
  }
  EXPECT_FALSE(within_bound(1.7976931348623157e308, -1.7976931348623157e308, 1.7976931348623157e308));
}

TEST(Transpose, SwapsRowsAndColumns) {
  Lcg lcg(1);
  std::uint32_t rows[32], turned[32];
  for (std::uint32_t& row : rows) row = static_cast<std::uint32_t>(lcg.next(32));
  std::memcpy(turned, rows, sizeof rows);
  transpose(turned);
  for (unsigned r = 0; r < 32; ++r)
    for (unsigned c = 0; c < 32; ++c) ASSERT_EQ(turned[c] >> (31 - r) & 1, rows[r] >> (31 - c) & 1);
}

// The payload of a block as the specification words it.
template <unsigned kDim>
std::vector<std::byte> packed_by_definition(const typename Block<kDim>::Values& residuals, Shape shape) {
  constexpr unsigned kPlaneBytes = Block<kDim>::kPlaneBytes;
  std::vector<std::byte> bytes(shape.bytes(kPlaneBytes));
  if (bytes.empty()) return bytes;
  std::byte* const map = bytes.data() + shape.outlier_bytes;
  const auto set = [](std::byte* plane, unsigned i) { plane[i / 8] |= std::byte{0x80} >> i % 8; };
  for (unsigned i = 0; i < Block<kDim>::kValues; ++i) {
    const auto value = static_cast<std::int64_t>(static_cast<std::int32_t>(residuals[i]));
    const auto size = static_cast<std::uint64_t>(value < 0 ? -value : value);
    if (value < 0) set(map, i);
    for (unsigned k = 0; k < shape.outlier_bytes && i == 0; ++k)
      bytes[k] = static_cast<std::byte>(size >> (8 * k) & 0xff);
    for (unsigned plane = 0; plane < shape.width && (i != 0 || shape.outlier_bytes == 0); ++plane)
      if ((size >> plane & 1) != 0) set(map + kPlaneBytes * (1 + plane), i);
  }
  return bytes;
}

template <unsigned kDim>
void check_block(const typename Block<kDim>::Values& residuals, Mode mode) {
  constexpr unsigned kPlaneBytes = Block<kDim>::kPlaneBytes;
  const Shape shape = choose_shape<kDim>(residuals, mode);
  Shape read;
  ASSERT_TRUE(read_shape<kDim>(shape.metadata(), mode, read));
  ASSERT_EQ(read.width, shape.width);
  ASSERT_EQ(read.outlier_bytes, shape.outlier_bytes);
  std::vector<std::byte> bytes(shape.bytes(kPlaneBytes));
  pack<kDim>(residuals, shape, bytes.data());
  ASSERT_EQ(bytes, packed_by_definition<kDim>(residuals, shape));
  typename Block<kDim>::Values expected, restored = {};
  std::memcpy(expected, residuals, sizeof expected);
  lose_magnitudes<kDim>(expected);
  if (!shape.zero()) unpack<kDim>(bytes.data(), shape, restored);
  for (unsigned i = 0; i < Block<kDim>::kValues; ++i) ASSERT_EQ(restored[i], expected[i]) << i;
}

template <unsigned kDim>
void check_blocks() {
  Lcg lcg(kDim);
  typename Block<kDim>::Values residuals;
  for (unsigned width = 0; width <= 32; ++width)
    for (unsigned first_width = 0; first_width <= 32; ++first_width)
      for (const Mode mode : {Mode::plain, Mode::outlier}) {
        for (unsigned i = 0; i < Block<kDim>::kValues; ++i) {
          const unsigned bits = i == 0 ? first_width : width;
          const auto size = static_cast<std::uint32_t>(bits == 0 ? 0 : lcg.next(bits));
          residuals[i] = lcg.next(1) != 0 ? 0 - size : size;
        }
        if (width == 32) residuals[5] = kTopBit;
        ASSERT_NO_FATAL_FAILURE(check_block<kDim>(residuals, mode)) << width << " " << first_width;
      }
}

TEST(Blocks, ArePackedAsDefined1D) {
  check_blocks<1>();
}
TEST(Blocks, ArePackedAsDefined2D) {
  check_blocks<2>();
}
TEST(Blocks, ArePackedAsDefined3D) {
  check_blocks<3>();
}

TEST(Shapes, MetadataBytesOfNoMeaningAreRefused) {
  Shape shape;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto metadata = static_cast<std::byte>(byte);
    EXPECT_EQ(read_shape<1>(metadata, Mode::plain, shape), byte < 32);
    EXPECT_EQ(read_shape<1>(metadata, Mode::outlier, shape), byte < 32 || byte >= 128);
    EXPECT_EQ(read_shape<3>(metadata, Mode::fixed, shape), byte <= 32);
    EXPECT_EQ(read_shape<3>(metadata, Mode::outlier, shape), byte <= 32 || byte >= 128);
    if (byte >= 128) {
      EXPECT_EQ(shape.metadata(), metadata);
    }
  }
}

TEST(Shapes, TiesGoToThePlainBlock) {
  Block<1>::Values residuals = {};
  residuals[0] = 2;  // width 2: 12 bytes; aside: 1 byte and the sign map
  EXPECT_EQ(choose_shape<1>(residuals, Mode::outlier).outlier_bytes, 1u);
  for (unsigned i = 1; i < 32; ++i) residuals[i] = 3;
  residuals[0] = 7;  // width 3: 16 bytes; aside: 1 + 12
  EXPECT_EQ(choose_shape<1>(residuals, Mode::outlier).outlier_bytes, 1u);
  residuals[0] = 3;
  EXPECT_EQ(choose_shape<1>(residuals, Mode::outlier).outlier_bytes, 0u);
  for (unsigned i = 1; i < 32; ++i) residuals[i] = 0x7fffff;
  residuals[0] = 0xffffff;  // 4 * (1 + 24) either way: 3 bytes aside and 4 less are fewer
  EXPECT_EQ(choose_shape<1>(residuals, Mode::outlier).outlier_bytes, 3u);
  residuals[0] = 0x1000000;
  for (unsigned i = 1; i < 32; ++i) residuals[i] = 0xffffff;
  EXPECT_EQ(choose_shape<1>(residuals, Mode::outlier).outlier_bytes,
            0u);  // 4 bytes aside for one plane less: a tie
}

template <class Layout>
void check_ownership(const Layout& layout) {
  constexpr unsigned kValues = Block<Layout::kDim>::kValues;
  std::vector<int> owners(layout.count());
  for (std::uint64_t block = 0; block < layout.places(); ++block) {
    const auto place = layout.place(block);
    for (unsigned i = 0; i < kValues; ++i) {
      if ((place.owned >> i & 1) == 0) continue;
      ASSERT_LT(kValues * block + i, layout.positions());
      ASSERT_LT(place.element(i), layout.count());
      ++owners[place.element(i)];
    }
  }
  for (const int count : owners) ASSERT_EQ(count, 1);
}

TEST(Layouts, EveryElementHasOneOwner) {
  for (std::uint64_t count = 1; count < 100; ++count)
    ASSERT_NO_FATAL_FAILURE(check_ownership(Line(count, true)));
  for (std::uint64_t dz = 1; dz < 6; ++dz)
    for (std::uint64_t dy = 1; dy < 18; ++dy)
      for (std::uint64_t dx = 1; dx < 22; ++dx) {
        SCOPED_TRACE(testing::Message() << dz << " " << dy << " " << dx);
        ASSERT_NO_FATAL_FAILURE(check_ownership(Tiles<2>(dz, dy, dx)));
        ASSERT_NO_FATAL_FAILURE(check_ownership(Tiles<3>(dz, dy, dx)));
      }
}

}  // namespace
}  // namespace homz::cuszp
