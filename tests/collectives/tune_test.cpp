// Tuning over threads: every number is there and has a meaning, all ranks get the same.
#include "collectives/tune.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "collectives/loopback.hpp"

namespace homz::test {
namespace {

TuneOptions quick() {
  TuneOptions options;
  options.machine = "test";
  options.seconds_each = 1e-4;
  options.most_native_bytes = 1 << 16;
  return options;
}

void expect_meaning(const Curve& curve, std::size_t points) {
  ASSERT_EQ(curve.points.size(), points);
  for (std::size_t i = 0; i < points; ++i) {
    EXPECT_GT(curve.points[i].seconds, 0);
    if (i == 0) continue;
    EXPECT_GT(curve.points[i].bytes, curve.points[i - 1].bytes);
    EXPECT_GE(curve.points[i].seconds, curve.points[i - 1].seconds);
  }
}

// The others do not wait for it.
TEST(Tuning, WrongOptionsOfOneRankAreTheErrorOfAll) {
  for (const bool of_codecs : {true, false}) {
    auto transports = loopback(3);
    std::vector<std::thread> ranks;
    std::vector<Status> told(3);
    for (std::size_t r = 0; r < 3; ++r)
      ranks.emplace_back([&, r] {
        TuneOptions options = quick();
        if (r == 1 && of_codecs) options.codecs = {"nope"};
        if (r == 1 && !of_codecs) options.seconds_each = -1;
        told[r] = tune(*transports[r], options).status();
      });
    for (std::thread& rank : ranks) rank.join();
    for (const Status& status : told) {
      EXPECT_EQ(status.code(), told[1].code());
      EXPECT_FALSE(status.ok());
      EXPECT_NE(status.message().find("rank 1: "), std::string::npos) << status.message();
      EXPECT_NE(status.message().find(of_codecs ? "nope" : "-1 s"), std::string::npos) << status.message();
    }
  }
}

TEST(Tuning, OfAProcessor) {
  TuneOptions options = quick();
  options.codecs = {"homcomp", "cuszp2:mode=plain", "zstd"};
  Profile profile = Profile::unmeasured();
  const Status status = tune_processor(options, profile);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(profile.codecs.size(), 3u);
  for (const CodecProfile& codec : profile.codecs) {
    SCOPED_TRACE(codec.codec);
    expect_meaning(codec.encode, 5);
    expect_meaning(codec.decode, 5);
    expect_meaning(codec.combine, codec.codec == "zstd" ? 0 : 5);
    expect_meaning(codec.accumulate, codec.codec == "zstd" ? 0 : 5);
    EXPECT_EQ(codec.encode.points.front().bytes, 4 * 4096);
    EXPECT_EQ(codec.encode.points.back().bytes, 4 << 20);
  }
  EXPECT_GT(profile.copy_seconds_per_byte, 0);
  EXPECT_GT(profile.reduce_seconds_per_byte, 0);
  EXPECT_EQ(profile.between, Profile::unmeasured().between);
  const Result<Profile> again = parse_profile(to_json(profile));
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_TRUE(*again == profile);
  options.codecs = {"zip"};
  EXPECT_EQ(tune_processor(options, profile).code(), Code::invalid_argument);
}

// Messages of another transport, and collectives that take some time.
class WithNatives final : public Transport {
 public:
  explicit WithNatives(std::unique_ptr<Transport> messages) : messages_(std::move(messages)) {}
  int rank() const noexcept override { return messages_->rank(); }
  int size() const noexcept override { return messages_->size(); }
  std::span<const int> nodes() const noexcept override { return messages_->nodes(); }
  Status send(ConstBytes bytes, std::shared_ptr<const void> owner, int to, int tag,
              Pending* pending) override {
    return messages_->send(bytes, std::move(owner), to, tag, pending);
  }
  Status receive(Bytes capacity, int from, int tag, Pending* pending) override {
    return messages_->receive(capacity, from, tag, pending);
  }
  Status poll() override { return messages_->poll(); }
  void yield() override { messages_->yield(); }
  void abandon(Pending* pending) override { messages_->abandon(pending); }
  Result<std::unique_ptr<Transport>> group(std::span<const int> ranks) override {
    HOMZ_ASSIGN(auto messages, messages_->group(ranks));
    return std::unique_ptr<Transport>(new WithNatives(std::move(messages)));
  }
  bool has_native(Collective collective, std::uint64_t, Space) const noexcept override {
    return collective != Collective::scatter;
  }
  Status native(Collective collective, ReduceOp op, Dtype, ConstBytes in, Bytes out, std::uint64_t count, int,
                Exec) override {
    const std::uint64_t n = static_cast<std::uint64_t>(size()), bytes = 4 * count;
    EXPECT_EQ(op, reduces(collective) ? ReduceOp::sum : ReduceOp::none);
    const bool whole_in = collective == Collective::reduce_scatter || collective == Collective::alltoall;
    const bool whole_out = collective == Collective::allgather || collective == Collective::gather ||
                           collective == Collective::alltoall;
    EXPECT_EQ(in.size(), whole_in ? n * bytes : bytes);
    EXPECT_EQ(out.size(), whole_out ? n * bytes : bytes);
    std::this_thread::sleep_for(std::chrono::microseconds(10));
    return Status();
  }

 private:
  std::unique_ptr<Transport> messages_;
};

std::vector<Profile> tuned(int ranks, int per_node, bool natives) {
  auto transports = loopback(ranks, per_node);
  std::vector<Profile> profiles(transports.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < transports.size(); ++r)
    threads.emplace_back([&, r] {
      std::unique_ptr<Transport> transport = std::move(transports[r]);
      if (natives) transport = std::make_unique<WithNatives>(std::move(transport));
      const Result<Profile> profile = tune(*transport, quick());
      ASSERT_TRUE(profile.ok()) << profile.status().message();
      profiles[r] = *profile;
    });
  for (std::thread& thread : threads) thread.join();
  return profiles;
}

TEST(Tuning, OfATransport) {
  for (const auto& [ranks, per_node] : {std::pair{1, 1}, {2, 1}, {4, 2}, {3, 3}}) {
    SCOPED_TRACE(testing::Message() << ranks << " ranks, " << per_node << " a node");
    const std::vector<Profile> profiles = tuned(ranks, per_node, ranks == 4);
    const Profile& profile = profiles.front();
    for (const Profile& each : profiles) EXPECT_TRUE(each == profile);
    EXPECT_EQ(profile.machine, "test");
    EXPECT_EQ(profile.inside == profile.between, ranks == 2 || ranks == 3);
    for (const LinkProfile* link : {&profile.inside, &profile.between}) {
      EXPECT_GT(link->latency, 0);
      EXPECT_GT(link->seconds_per_byte, 0);
      EXPECT_GE(link->segment_bytes, 16u << 10);
      EXPECT_LE(link->segment_bytes, 1u << 20);
    }
    EXPECT_GE(profile.call_seconds, 0);
    EXPECT_GE(profile.message_seconds, 0);
    EXPECT_LT(profile.message_seconds, 0.1);
    ASSERT_EQ(profile.natives.size(), ranks == 4 ? 7u : 0u);
    for (const NativeProfile& native : profile.natives) {
      EXPECT_EQ(native.ranks, 4);
      EXPECT_FALSE(native.curve.points.empty());
      expect_meaning(native.curve, native.curve.points.size());
      EXPECT_LE(native.curve.points.back().bytes, 1 << 16);
    }
    EXPECT_TRUE(parse_profile(to_json(profile)).ok());
  }
}

}  // namespace
}  // namespace homz::test
