// A region is what the whole field has there, and nothing else is read for it.
#include "core/region.hpp"

#include <gtest/gtest.h>

#include <random>

#include "codecs/builtin.hpp"
#include "codecs/homcomp/chunk_range.hpp"
#include "tests/homcomp/coding.hpp"
#include "tests/support/choices.hpp"
#include "tests/support/round_trip.hpp"

namespace homz::test {
namespace {

std::vector<std::byte> read_region(ConstBytes stream, const Region& region, unsigned threads,
                                   Status* status) {
  const auto open = open_stream(registry(), stream, host());
  EXPECT_TRUE(open.ok()) << open.status().message();
  std::vector<std::byte> data(field_of(region, open->header.field)->bytes()),
      scratch(open->region_scratch_bytes);
  *status = decode_region(*open, region, data, scratch, host(threads));
  return data;
}

Region random_region(const Field& field, std::mt19937& random) {
  Region region;
  for (unsigned axis = 0; axis < field.rank; ++axis) {
    const auto extent = static_cast<std::uint32_t>(field.extents[axis]);
    region.first[axis] = random() % extent;
    region.extents[axis] = 1 + random() % (extent - static_cast<std::uint32_t>(region.first[axis]));
    if (random() % 4 == 0) region.extents[axis] = 1;
  }
  return region;
}

void check_regions(const std::string& choice, const Sample& sample, double bound, int rounds) {
  SCOPED_TRACE(describe(choice, sample, bound));
  const std::vector<std::byte> stream = encode(compression_of(choice, sample, bound), sample.bytes()).bytes;
  const std::vector<std::byte> whole = decode(stream).bytes;
  ASSERT_EQ(whole.size(), sample.data.size());
  std::mt19937 random(7);
  for (int round = 0; round < rounds; ++round) {
    const Region region = round == 0 ? Region::whole(sample.field) : random_region(sample.field, random);
    Status status;
    const std::vector<std::byte> part = read_region(stream, region, 1 + round % 3, &status);
    ASSERT_TRUE(status.ok()) << status.message();
    std::vector<std::byte> expected(part.size());
    copy_region(region, sample.field, whole, expected);
    ASSERT_TRUE(part == expected);
  }
}

TEST(Region, IsAPartOfTheField) {
  const std::vector<std::vector<std::uint64_t>> shapes = {
      {1},         {9000},        {3, 3000},    {130, 70},       {1000, 3},      {20, 33, 50},
      {1, 90, 80}, {40, 1, 70},   {5, 6, 7, 8}, {3, 20, 18, 35}, {30, 5, 4, 40}, {300, 3, 3, 3},
      {7, 90, 66}, {3, 2, 90, 66}};  // the last two: w > 1 with dim 2
  for (const auto& extents : shapes)
    for (const std::string choice : {"homcomp", "homcomp:dim=1", "homcomp:dim=2", "homcomp:dim=3"})
      for (const std::string_view input : {"sine", "coast", "random_bits"}) {
        const Sample sample = make_sample(input, Dtype::f32, extents);
        if (footprint(compression_of(choice, sample, 1e-3), host()).ok())
          check_regions(choice, sample, 1e-3, 25);
      }
}

// Every box of chunks of a small grid, found by steps as by looking at all chunks.
TEST(Region, RangesOfChunksAreWalkedInOrder) {
  const Field field = *Field::make(Dtype::f32, std::vector<std::uint64_t>{3, 40, 33, 50});
  const homcomp::Grid grid(field, 3);
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    homcomp::ChunkRange range(grid);
    std::uint64_t low[homcomp::kAxes], high[homcomp::kAxes];
    for (unsigned axis = 0; axis < homcomp::kAxes; ++axis) {
      low[axis] = random() % grid.count(axis);
      high[axis] = low[axis] + random() % (grid.count(axis) - low[axis]);
      range.limit(axis, low[axis], high[axis]);
    }
    std::uint64_t next = range.first();
    for (std::uint64_t chunk = 0; chunk < grid.chunks(); ++chunk) {
      bool is_inside = true;
      std::uint64_t rest = chunk;
      for (unsigned axis = homcomp::kAxes; axis-- > 0; rest /= grid.count(axis)) {
        const std::uint64_t at = rest % grid.count(axis);
        is_inside = is_inside && low[axis] <= at && at <= high[axis];
      }
      ASSERT_EQ(chunk == next, is_inside);
      if (chunk == next) next = range.at_or_behind(chunk + 1);
    }
    EXPECT_EQ(next, grid.chunks());
  }
}

TEST(Region, ComesFromEveryCodecAndRepresentation) {
  for (const std::string& choice : default_choices())
    for (const std::string_view input : {"walk", "constant", "fill_blocks", "random_bits"})
      check_regions(choice, make_sample(input, Dtype::f64, {6, 11, 30}), 1e-3, 8);
}

TEST(Region, OutsideOfTheFieldIsAnError) {
  const Field field = *Field::make(Dtype::f32, std::vector<std::uint64_t>{4, 5});
  for (const Region& region : {Region{{0, 0}, {5, 5}}, Region{{1, 0}, {4, 5}}, Region{{4, 6}, {0, 0}},
                               Region{{0, 0, 1}, {4, 5, 0}}, Region{{0, UINT64_MAX}, {4, 2}}})
    EXPECT_EQ(field_of(region, field).status().code(), Code::invalid_argument);
  EXPECT_EQ(field_of(Region{{4, 0}, {0, 5}}, field)->count(), 0u);
}

// Damage elsewhere does not matter; damage in a group of chunks that is needed, or in the table, is found.
TEST(Region, VerifiesWhatItReadsAndNothingElse) {
  const Sample sample = make_sample("walk", Dtype::f32, {200 * 4096});
  const std::vector<std::byte> sound = encode(compression_of("homcomp", sample, 1e-3), sample.bytes()).bytes;
  const homcomp::Layout layout(200);
  const std::size_t payload = StreamHeader::kBytes;
  const Region region{{70 * 4096 + 17}, {1000}};  // in the second group
  const auto code_with_damage_at = [&](std::size_t at) {
    std::vector<std::byte> stream = sound;
    stream[at] ^= std::byte{4};
    Status status;
    read_region(stream, region, 1, &status);
    return status.code();
  };
  const auto start_of = [&](std::uint64_t group) {
    return payload + layout.data + 4 * load_le<std::uint64_t>(&sound[payload + layout.row(group)]);
  };
  EXPECT_EQ(code_with_damage_at(start_of(0) + 5), Code::ok);
  EXPECT_EQ(code_with_damage_at(start_of(2)), Code::ok);
  EXPECT_EQ(code_with_damage_at(sound.size() - 1), Code::ok);
  for (std::size_t at = start_of(1); at < start_of(2); at += 997)
    EXPECT_EQ(code_with_damage_at(at), Code::corrupt_stream) << at;
  EXPECT_EQ(code_with_damage_at(start_of(2) - 1), Code::corrupt_stream);
  for (std::size_t at = payload; at < payload + layout.sizes; ++at)
    EXPECT_EQ(code_with_damage_at(at), Code::corrupt_stream) << at;
  for (std::uint64_t chunk = 64; chunk < 128; ++chunk)
    EXPECT_EQ(code_with_damage_at(payload + layout.size(chunk)), Code::corrupt_stream) << chunk;
}

}  // namespace
}  // namespace homz::test
