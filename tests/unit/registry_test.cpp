// The registry: what a program must say to plug in its own codec, and what it may not say.
#include <gtest/gtest.h>

#include <set>

#include "codecs/builtin.hpp"

namespace homz::test {
namespace {

// A codec that halves the data by leaving out every second value: only its registration matters here.
class Plugin final : public Codec {
 public:
  explicit Plugin(CodecInfo info) : info_(info) {}
  const CodecInfo& info() const noexcept override { return info_; }
  Result<CodecParams> parse(std::string_view) const override { return CodecParams{}; }
  Result<std::string> describe(const CodecParams&) const override { return std::string(); }
  Result<Footprint> footprint(const Encoding&, Exec) const override { return Footprint{}; }
  Status encode(const Encoding&, ConstBytes, Bytes, Bytes, Encoded* encoded, Exec) const override {
    encoded->bytes = kIncompressible;
    return Status();
  }
  Status decode(const Encoding&, ConstBytes, Bytes, Bytes, Exec) const override {
    return Status(Code::unsupported, "");
  }

 private:
  CodecInfo info_;
};

TEST(Registry, TakesCodecsOfOthers) {
  Registry registry;
  const Plugin plugin({CodecId{200}, "my-codec_2", 1, false, "", ""});
  ASSERT_TRUE(registry.add(plugin).ok());
  EXPECT_EQ(registry.find(CodecId{200}), &plugin);
  EXPECT_EQ(registry.find(std::string_view("my-codec_2")), &plugin);
  EXPECT_EQ(registry.choose("my-codec_2:")->codec, &plugin);
}

TEST(Registry, RefusesTakenAndIllFormedNames) {
  Registry registry;
  const Plugin first({CodecId{200}, "first", 1, false, "", ""});
  ASSERT_TRUE(registry.add(first).ok());
  for (const Plugin& other :
       {Plugin({CodecId{200}, "second", 1, false, "", ""}), Plugin({CodecId{201}, "first", 1, false, "", ""}),
        Plugin({CodecId{202}, "", 1, false, "", ""}), Plugin({CodecId{203}, "a:b", 1, false, "", ""}),
        Plugin({CodecId{204}, "Upper", 1, false, "", ""}), Plugin({CodecId{205}, "a b", 1, false, "", ""})})
    EXPECT_EQ(registry.add(other).code(), Code::invalid_argument) << other.info().name;
  EXPECT_EQ(registry.all().size(), 1u);
}

TEST(Registry, OfBuiltInCodecsHasIdsNamesAndSummaries) {
  std::set<CodecId> ids;
  std::set<std::string_view> names;
  for (const Codec* codec : registry().all()) {
    EXPECT_LE(static_cast<std::uint16_t>(codec->info().id), kLastBuiltinId) << codec->info().name;
    EXPECT_FALSE(codec->info().summary.empty()) << codec->info().name;
    ids.insert(codec->info().id);
    names.insert(codec->info().name);
  }
  EXPECT_EQ(ids.size(), registry().all().size());
  EXPECT_EQ(names.size(), registry().all().size());
  EXPECT_NE(registry().find(std::string_view("identity")), nullptr);
  EXPECT_EQ(registry().find(std::string_view("none of these")), nullptr);
  EXPECT_EQ(registry().find(CodecId{9999}), nullptr);
}

}  // namespace
}  // namespace homz::test
