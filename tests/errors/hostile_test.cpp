// Hostile streams: an attacker changes whatever he likes and makes both checksums right again. Decoders then
// give an error or some data, but touch no memory of others, hang in no loop and show nothing of what a
// buffer held before. Run under AddressSanitizer these tests find every read out of bounds too. D8 to D16 of
// the list of faults.
#include <gtest/gtest.h>

#include <ctime>
#include <random>

#include "codecs/builtin.hpp"
#include "tests/support/choices.hpp"
#include "tests/support/guarded.hpp"
#include "tests/support/round_trip.hpp"
#include "tests/support/surgery_homcomp.hpp"

namespace homz::test {
namespace {

using Stream = std::vector<std::byte>;
// Larger fields that an attack declares are left: what is tested does not depend on their size, and they take
// long.
constexpr std::uint64_t kMostData = 1 << 21;

class Attacker {
 public:
  explicit Attacker(std::uint64_t seed) : random_(seed) {}

  // Some change of the payload or of header fields that the codec relies on.
  Stream change(const Stream& sound) {
    Stream stream = sound;
    for (std::uint64_t times = 1 + below(3); times != 0; --times) change_once(stream);
    fix_inner_checksums(stream);
    fix_checksums(stream);
    return stream;
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  std::size_t place(const Stream& stream) {
    const std::size_t payload =
        stream.size() - kHeaderBytes;  // the front, with its tables, is hit more often
    return kHeaderBytes + (below(2) ? below(payload) : below(std::min<std::size_t>(payload, 64)));
  }

  void change_once(Stream& stream) {
    const std::uint64_t kind = below(14);
    if (stream.size() == kHeaderBytes && kind < 8) return;
    switch (kind) {
      case 0:
        stream[place(stream)] ^= static_cast<std::byte>(1 << below(8));
        break;
      case 1:
        stream[place(stream)] = static_cast<std::byte>(below(256));
        break;
      case 2:
        for (std::uint64_t i = 1 + below(16); i != 0; --i)
          stream[place(stream)] = static_cast<std::byte>(below(256));
        break;
      case 3:
        overwrite(stream, below(2) ? std::byte{0xff} : std::byte{0}, 4);
        break;
      case 4:
        overwrite(stream, below(2) ? std::byte{0x7f} : std::byte{0x80}, 1 + below(40));
        break;
      case 5:
        stream.resize(place(stream));
        break;
      case 6: {  // a piece moves elsewhere
        const std::size_t from = place(stream), to = place(stream);
        const std::size_t length = std::min(1 + below(32), stream.size() - std::max(from, to));
        std::copy_n(Stream(stream).begin() + from, length, stream.begin() + to);
        break;
      }
      case 7:
        stream.erase(stream.begin() + place(stream));
        break;
      case 8:
        stream.insert(stream.end(), 1 + below(100), static_cast<std::byte>(below(256)));
        break;
      case 9:
        put<std::uint64_t>(stream, kExtentsAt,
                           below(2) ? below(1000) : get<std::uint64_t>(stream, kExtentsAt) ^ 1);
        break;
      case 10:
        stream[kDtypeAt] ^= std::byte{3};
        break;
      case 11:
        put(stream, kAbsErrorAt, below(2) ? 0x1p-1074 : 0x1p+1000);
        break;
      case 12:
        stream[kParamsAt + below(24)] = static_cast<std::byte>(below(8));
        break;
      case 13:
        put<std::uint16_t>(stream, kRequiredAt, below(2));
        put<std::uint64_t>(stream, kFillAt, 0);
        break;
    }
  }

  void overwrite(Stream& stream, std::byte value, std::size_t length) {
    const std::size_t at = place(stream);
    std::fill_n(stream.begin() + at, std::min(length, stream.size() - at), value);
  }

  std::mt19937_64 random_;
};

class Hostile : public testing::TestWithParam<std::string> {
 protected:
  void attack(const Sample& sample, double bound, int times) {
    const Stream sound = check_round_trip(GetParam(), sample, bound);
    if (sound.empty()) return;
    Attacker attacker(sample.data.size());
    for (int i = 0; i < times && !HasFailure(); ++i) {
      const Stream stream = attacker.change(sound);
      SCOPED_TRACE(testing::Message() << describe(GetParam(), sample, bound) << ", attack " << i);
      survive(stream);
    }
  }

 private:
  static void survive(const Stream& stream) {
    const auto open = open_stream(registry(), stream, host());
    if (!open.ok() || open->header.field.bytes() > kMostData) return;
    const std::clock_t start = std::clock();  // of this process: the machine may have other work to do
    const Outcome once = decode(stream, {.poison = std::byte{0x11}});
    EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 5)
        << "the time must be linear in input and output";
    const Outcome again = decode(stream, {.threads = 3, .misalign = 1, .poison = std::byte{0xee}});
    EXPECT_EQ(once.status.code(), again.status.code())
        << once.status.message() << " / " << again.status.message();
    if (once.status.ok() && again.status.ok()) {
      EXPECT_TRUE(once.bytes == again.bytes) << "what the buffers held before shows in the data";
    }
    if (!once.status.ok()) {
      EXPECT_EQ(once.status.code(), Code::corrupt_stream) << once.status.message();
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Codecs, Hostile, testing::ValuesIn(all_choices()),
                         [](const auto& info) { return test_name(info.param); });

TEST_P(Hostile, SmallStreams) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64})
    for (const std::string_view input :
         {"sine", "nan_tenth", "fill_blocks", "all_scales", "normal", "constant"}) {
      const Sample sample = make_sample(input, dtype, {5, 7, 19});
      attack(sample, common_bounds_for(sample)[0], kSanitized ? 400 : 1500);
    }
}

// Several segments, so that offsets from one to the next can be wrong.
TEST_P(Hostile, StreamsOfSeveralSegments) {
  for (const std::string_view input : {"walk", "nan_tenth", "fill_blocks"})
    attack(make_sample(input, Dtype::f32, {2, 187, 379}), 1e-3, kSanitized ? 40 : 120);
}

// Nothing but noise behind a sound header.
TEST_P(Hostile, Noise) {
  const Sample sample = make_sample("sine", Dtype::f32, {3000});
  Stream sound = check_round_trip(GetParam(), sample, 1e-2);
  if (sound.empty()) return;
  std::mt19937_64 random(9);
  for (int i = 0; i < (kSanitized ? 300 : 2000) && !HasFailure(); ++i) {
    Stream stream = sound;
    stream.resize(kHeaderBytes + random() % 3000);
    const unsigned mask = i % 3 == 0 ? 0xff : i % 3 == 1 ? 0x07 : 0x01;
    for (std::size_t at = kHeaderBytes; at < stream.size(); ++at)
      stream[at] = static_cast<std::byte>(random() & mask);
    fix_checksums(stream);
    SCOPED_TRACE(i);
    decode(stream);
  }
}

}  // namespace
}  // namespace homz::test
