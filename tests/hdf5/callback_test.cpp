// The filter's callback alone: hostile parameters and damaged chunks give 0 and leave the buffer as it was.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "codecs/builtin.hpp"
#include "core/byte_order.hpp"
#include "tests/hdf5/library.hpp"
#include "tools/hdf5/coding.hpp"

namespace homz::hdf5::test {
namespace {

// A buffer as HDF5 hands it over, and what the callback made of it.
struct Call {
  void* buffer;
  std::size_t capacity;
  std::size_t valid = 0;

  Call(const std::vector<std::byte>& bytes, std::size_t slack)
      : buffer(H5allocate_memory(bytes.size() + slack, false)), capacity(bytes.size() + slack) {
    std::memset(buffer, 0xa5, capacity);
    if (!bytes.empty()) std::memcpy(buffer, bytes.data(), bytes.size());
  }
  ~Call() { H5free_memory(buffer); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  std::size_t run(unsigned flags, const Words& words, std::size_t bytes) {
    valid = filter_class().filter(flags, words.size(), words.data(), bytes, &capacity, &buffer);
    H5Eclear2(H5E_DEFAULT);
    return valid;
  }
  std::vector<std::byte> result() const {
    const auto* const bytes = static_cast<const std::byte*>(buffer);
    return {bytes, bytes + valid};
  }
};

std::vector<std::byte> apply(unsigned flags, const Words& words, const std::vector<std::byte>& bytes) {
  Call call(bytes, 64);
  call.run(flags, words, bytes.size());
  return call.result();
}

ChunkCoding coding_for(Dtype dtype, bool big_endian, std::vector<std::uint64_t> extents) {
  ChunkCoding coding;
  coding.abs_error = 1e-3;
  coding.requested = {BoundMode::absolute, 1e-3};
  const CodecChoice choice = *registry().choose(kDefaultCodec);
  coding.codec = choice.codec->info().id;
  coding.params = choice.params;
  coding.dtype = dtype;
  coding.big_endian = big_endian;
  coding.extents = std::move(extents);
  return coding;
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

class CallbackTest : public testing::Test {
 protected:
  const std::vector<float> values_ = wave<float>(600);
  const ChunkCoding coding_ = coding_for(Dtype::f32, false, {20, 30});
  const Words words_ = all_words(coding_);
  const std::vector<std::byte> data_ = bytes_of(values_);
  const std::vector<std::byte> stream_ = apply(0, words_, data_);
};

TEST_F(CallbackTest, CodesAndDecodes) {
  ASSERT_FALSE(stream_.empty());
  EXPECT_LT(stream_.size(), data_.size());
  const auto decoded = apply(H5Z_FLAG_REVERSE, words_, stream_);
  ASSERT_EQ(decoded.size(), data_.size());
  std::vector<float> result(values_.size());
  std::memcpy(result.data(), decoded.data(), decoded.size());
  expect_within(values_, result, 1e-3);
}

TEST_F(CallbackTest, BigEndianChunksHoldTheSamePayload) {
  const Words words = all_words(coding_for(Dtype::f32, true, {20, 30}));
  auto swapped = data_;
  swap_bytes(Dtype::f32, swapped, 1);
  const auto stream = apply(0, words, swapped);
  ASSERT_EQ(stream.size(), stream_.size());
  EXPECT_TRUE(std::equal(stream.begin() + StreamHeader::kBytes, stream.end(),
                         stream_.begin() + StreamHeader::kBytes));
  auto decoded = apply(H5Z_FLAG_REVERSE, words, stream);
  swap_bytes(Dtype::f32, decoded, 1);
  EXPECT_EQ(decoded, apply(H5Z_FLAG_REVERSE, words_, stream_));
}

TEST_F(CallbackTest, OnlyTheValidBytesCount) {
  for (std::size_t slack : {0, 1, 4096}) {
    Call call(stream_, slack);
    EXPECT_EQ(call.run(H5Z_FLAG_REVERSE, words_, stream_.size()), data_.size()) << slack;
  }
  Call none(stream_, 0);
  EXPECT_EQ(none.run(H5Z_FLAG_REVERSE, words_, 0), 0u);
}

TEST_F(CallbackTest, EveryTruncationIsRefused) {
  for (std::size_t length = 0; length < stream_.size(); ++length) {
    const std::vector<std::byte> cut(stream_.begin(), stream_.begin() + static_cast<std::ptrdiff_t>(length));
    ASSERT_TRUE(apply(H5Z_FLAG_REVERSE, words_, cut).empty()) << length;
  }
  auto longer = stream_;
  longer.push_back(std::byte{0});
  EXPECT_TRUE(apply(H5Z_FLAG_REVERSE, words_, longer).empty());
}

TEST_F(CallbackTest, EveryFlippedBitIsRefused) {
  for (std::size_t bit = 0; bit < 8 * stream_.size(); ++bit) {
    auto damaged = stream_;
    damaged[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    ASSERT_TRUE(apply(H5Z_FLAG_REVERSE, words_, damaged).empty()) << bit;
  }
}

TEST_F(CallbackTest, ParametersThatDisagreeWithTheChunkAreRefused) {
  const ChunkCoding others[] = {
      coding_for(Dtype::f64, false, {20, 30}), coding_for(Dtype::f64, false, {10, 30}),
      coding_for(Dtype::f32, true, {20, 30}),  coding_for(Dtype::f32, false, {20, 31}),
      coding_for(Dtype::f32, false, {1, 1}),   coding_for(Dtype::f32, false, {32768, 32767})};
  for (const ChunkCoding& other : others)
    EXPECT_TRUE(apply(H5Z_FLAG_REVERSE, all_words(other), stream_).empty());
  // The same count in another shape is the same chunk.
  EXPECT_FALSE(apply(H5Z_FLAG_REVERSE, all_words(coding_for(Dtype::f32, false, {600})), stream_).empty());
}

TEST_F(CallbackTest, ChunksThatBreakThePromiseAreRefused) {
  ChunkCoding stricter = coding_, looser = coding_, filled = coding_;
  stricter.abs_error = stricter.requested.value = 1e-4;
  looser.abs_error = looser.requested.value = 1e-2;
  filled.fill_bits = bits_of(-9999.0f);
  EXPECT_TRUE(apply(H5Z_FLAG_REVERSE, all_words(stricter), stream_).empty());
  EXPECT_FALSE(apply(H5Z_FLAG_REVERSE, all_words(looser), stream_).empty());
  EXPECT_TRUE(apply(H5Z_FLAG_REVERSE, all_words(filled), stream_).empty());
}

TEST_F(CallbackTest, DataOfAnotherSizeIsNotCoded) {
  auto data = data_;
  data.pop_back();
  EXPECT_TRUE(apply(0, words_, data).empty());
  data.resize(data_.size() + 4);
  EXPECT_TRUE(apply(0, words_, data).empty());
  EXPECT_TRUE(apply(0, words_, {}).empty());
}

TEST_F(CallbackTest, IncompleteParametersAreRefusedAndTheBufferKept) {
  for (std::size_t count = 0; count < words_.size() + 3; ++count) {
    if (count == words_.size()) continue;
    Words words = words_;
    words.resize(count);
    for (const unsigned flags : {0u, unsigned{H5Z_FLAG_REVERSE}}) {
      const auto& bytes = flags == 0 ? data_ : stream_;
      Call call(bytes, 0);
      EXPECT_EQ(call.run(flags, words, bytes.size()), 0u) << count;
      EXPECT_EQ(std::memcmp(call.buffer, bytes.data(), bytes.size()), 0) << count;
    }
  }
}

TEST_F(CallbackTest, RandomParametersDoNoHarm) {
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    Words words = words_;
    for (unsigned change = random() % 4 + 1; change != 0; --change) {
      const auto any = static_cast<unsigned>(random());
      const unsigned values[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff, any, any % 64};
      words[random() % words.size()] = values[random() % 8];
    }
    if (round % 4 == 0) words.resize(random() % 60);
    apply(0, words, data_);
    apply(H5Z_FLAG_REVERSE, words, stream_);
  }
}

TEST(Parameters, TravelThroughWords) {
  ChunkCoding coding = coding_for(Dtype::f64, true, {1, 128, 7});
  coding.abs_error = 1e-10;
  coding.requested = {BoundMode::relative, 0.1};
  coding.fill_bits = bits_of(-9999.0);
  const auto parsed = parse_all_words(registry(), all_words(coding));
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(bits_of(parsed->abs_error), bits_of(1e-10));
  EXPECT_EQ(parsed->requested, coding.requested);
  EXPECT_EQ(parsed->fill_bits, coding.fill_bits);
  EXPECT_EQ(parsed->codec, coding.codec);
  EXPECT_EQ(parsed->params, coding.params);
  EXPECT_EQ(parsed->extents, coding.extents);
  EXPECT_TRUE(parsed->big_endian);
  EXPECT_EQ(all_words(*parsed), all_words(coding));
}

TEST(Parameters, ShortFormIsABound) {
  const auto parsed = parse_user_words(registry(), bound_words(0.001));
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->abs_error, 0.001);
  EXPECT_EQ(parsed->requested, (ErrorBound{BoundMode::absolute, 0.001}));
  for (const double bound : {-1.0, std::nan(""), static_cast<double>(INFINITY), -0.0})
    EXPECT_FALSE(parse_user_words(registry(), bound_words(bound)).ok()) << bound;
  Words newer = bound_words(0.001);
  newer[0] = 2;
  const auto refused = parse_user_words(registry(), newer);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("layout 2"), std::string::npos) << refused.status().message();
}

TEST(Parameters, TheBoundIsTheOneThatWasAskedFor) {
  const ErrorBound wrong[] = {
      {BoundMode::absolute, 1e-4}, {BoundMode::absolute, 1e-2}, {BoundMode::lossless, 0}};
  ChunkCoding coding = coding_for(Dtype::f32, false, {20, 30});
  EXPECT_TRUE(parse_all_words(registry(), all_words(coding)).ok());
  for (const ErrorBound& bound : wrong) {
    coding.requested = bound;
    EXPECT_FALSE(parse_all_words(registry(), all_words(coding)).ok()) << to_string(bound);
  }
}

TEST(Parameters, ExtentsBeyondFourAreMerged) {
  const std::uint64_t six[] = {2, 1, 3, 5, 7, 11}, units[] = {1, 1, 1, 1, 1}, four[] = {1, 2, 1, 3};
  EXPECT_EQ(coded_field(Dtype::f32, six)->shape_text(), "6x5x7x11");
  EXPECT_EQ(coded_field(Dtype::f32, units)->shape_text(), "1");
  EXPECT_EQ(coded_field(Dtype::f32, four)->shape_text(), "1x2x1x3");
}

}  // namespace
}  // namespace homz::hdf5::test
