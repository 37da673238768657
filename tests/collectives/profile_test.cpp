// Curves, and profiles as text: round trips, and errors that name the key.
#include "collectives/profile.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace homz::test {
namespace {

TEST(Curves, AreStraightBetweenPointsAndGoOn) {
  EXPECT_EQ(Curve{}.seconds(100), 0);
  EXPECT_EQ((Curve{{{10, 2}}}.seconds(20)), 4);
  const Curve curve{{{10, 2}, {20, 4}, {40, 5}}};
  EXPECT_EQ(curve.seconds(10), 2);
  EXPECT_EQ(curve.seconds(15), 3);
  EXPECT_EQ(curve.seconds(20), 4);
  EXPECT_EQ(curve.seconds(30), 4.5);
  EXPECT_EQ(curve.seconds(40), 5);
  EXPECT_EQ(curve.seconds(80), 7);
  EXPECT_EQ(curve.seconds(0), 0);
}

TEST(Curves, NeitherFallBeyondTheirPointsNorBelowNothing) {
  const Curve steep{{{10, 1}, {20, 9}}};
  EXPECT_EQ(steep.seconds(5), 0.5);
  EXPECT_EQ(steep.seconds(0), 0);
  const Curve falling{{{10, 3}, {20, 2}}};
  EXPECT_EQ(falling.seconds(15), 2.5);
  EXPECT_GE(falling.seconds(1000), 2);
  EXPECT_GE(falling.seconds(0), 0);
}

Profile measured() {
  Profile profile = Profile::unmeasured();
  profile.machine = "two \"nodes\"\n of 4";
  profile.inside = {1.25e-6, 1.0 / 3e9, 1 << 20};
  profile.between = {3e-5, 1.0 / 7e8, 65536};
  profile.call_seconds = 0.1;
  profile.codecs.push_back({"cuszp2:mode=plain", {{{1, 2}}}, {{{3, 4}, {5, 6}}}, {}, {}});
  profile.natives.push_back({Collective::allgather, 12, {{{4, 1e-6}, {4096, 2e-6}}}});
  return profile;
}

TEST(Profiles, SurviveTheirText) {
  for (const Profile& profile : {Profile::unmeasured(), measured()}) {
    const Result<Profile> again = parse_profile(to_json(profile));
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_TRUE(*again == profile);
  }
}

TEST(Profiles, TheUnmeasuredOneHasEverything) {
  const Profile profile = Profile::unmeasured();
  ASSERT_FALSE(profile.codecs.empty());
  for (const CodecProfile& codec : profile.codecs)
    for (const Curve* curve : {&codec.encode, &codec.decode, &codec.combine, &codec.accumulate})
      EXPECT_FALSE(curve->points.empty());
  for (const double number :
       {profile.inside.latency, profile.between.latency, profile.inside.seconds_per_byte,
        profile.between.seconds_per_byte, profile.reduce_seconds_per_byte, profile.copy_seconds_per_byte,
        profile.call_seconds, profile.message_seconds})
    EXPECT_GT(number, 0);
}

struct Bad {
  const char *from, *to, *told;
};

TEST(Profiles, ErrorsNameTheKey) {
  const std::string good = to_json(measured());
  const Bad all[] = {
      {"\"format\": 1", "\"format\": 2", "format"},
      {"\"format\": 1", "\"format\": true", "format"},
      {"\"machine\"", "\"maschine\"", "maschine"},
      {"\"latency\": 3e-05", "\"latency\": -1", "between.latency"},
      {"\"latency\": 3e-05", "\"latency\": \"3\"", "between.latency"},
      {"\"latency\": 3e-05", "\"latency\": null", "between.latency"},
      {"\"latency\": 3e-05,", "", "between.latency"},
      {"\"segment_bytes\": 65536", "\"segment_bytes\": 1", "between.segment_bytes"},
      {"\"segment_bytes\": 65536", "\"segment_bytes\": 65536.5", "between.segment_bytes"},
      {"\"call_seconds\": 0.1", "\"call_seconds\": 1e999", "JSON"},
      {"\"cuszp2:mode=plain\"", "\"cuszp2:mode=plane\"", "codecs[1].codec"},
      {"\"cuszp2:mode=plain\"", "7", "codecs[1].codec"},
      {"\"allgather\"", "\"scan\"", "natives[0].collective"},
      {"\"ranks\": 12", "\"ranks\": 0", "natives[0].ranks"},
      {"\"natives\": [", "\"natives\": 3, \"others\": [", "others"},
      {"4096.0", "4.0", "natives[0].curve[1]"},
      {"4096.0", "\"x\"", "natives[0].curve[1]"},
  };
  for (const Bad& bad : all) {
    std::string text = good;
    const std::size_t at = text.find(bad.from);
    ASSERT_NE(at, std::string::npos) << bad.from;
    text.replace(at, std::string(bad.from).size(), bad.to);
    const Status status = parse_profile(text).status();
    EXPECT_EQ(status.code(), Code::invalid_argument) << bad.to;
    EXPECT_NE(status.message().find(bad.told), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("homz tune"), std::string::npos) << status.message();
  }
  for (const char* text : {"", "{", "[]", "3", "{}", "\xff", "null"})
    EXPECT_EQ(parse_profile(text).status().code(), Code::invalid_argument) << text;
}

std::string written(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + std::to_string(getpid()) + name;
  std::ofstream(path) << text;
  return path;
}

TEST(Profiles, AreReadFromFiles) {
  const std::string path = written("homz_profile.json", to_json(measured()));
  const Result<Profile> profile = read_profile(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(profile.ok()) << profile.status().message();
  EXPECT_TRUE(*profile == measured());
}

TEST(Profiles, ErrorsOfFilesNameTheFile) {
  const auto fails = [](const std::string& path, Code code, const char* told) {
    const Status status = read_profile(path).status();
    EXPECT_EQ(status.code(), code) << path;
    EXPECT_NE(status.message().find(path), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(told), std::string::npos) << status.message();
  };
  fails(testing::TempDir() + "homz_no_profile.json", Code::io, "No such file");
  fails(testing::TempDir(), Code::io, "directory");
  const std::string path = written("homz_bad_profile.json", R"({"format": 1, "machine": 3})");
  fails(path, Code::invalid_argument, "machine");
  fails(written("homz_bad_profile.json", ""), Code::invalid_argument, "JSON");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace homz::test
