// Numbers and options from text: a whole text or nothing.
#include "core/text.hpp"

#include <gtest/gtest.h>

namespace homz::test {
namespace {

TEST(Numbers, AreWholeTexts) {
  EXPECT_EQ(*parse_double("1e-3"), 0.001);
  EXPECT_EQ(*parse_double("+2.5"), 2.5);
  EXPECT_EQ(*parse_double("-0.5"), -0.5);
  for (const auto text : {"", "+", "-", "1e", "1e-3x", " 1", "1 ", "nan", "inf", "-inf", "1e999", "1e-999",
                          "0x10", "1,5", "+-1"})
    EXPECT_FALSE(parse_double(text).ok()) << text;
  EXPECT_EQ(*parse_unsigned("18446744073709551615"), ~0ull);
  for (const auto text : {"", "-1", "+1", "18446744073709551616", "1.0", "0x1", " 1", "1k"})
    EXPECT_FALSE(parse_unsigned(text).ok()) << text;
}

TEST(Options, AreTakenOneByOne) {
  auto options = Options::parse("level=3,mode=fast");
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(*options->take_integer("level", 1, 9, 5), 3);
  EXPECT_EQ(*options->take_integer("window", 1, 9, 5), 5);
  EXPECT_EQ(*options->take_choice("mode", {"slow", "fast"}, 0), 1u);
  EXPECT_TRUE(options->finish("codec", "").ok());
}

TEST(Options, ThatAreWrongAreNamed) {
  for (const auto text : {"level", "=3", ",", "a=1,,b=2", "a=1,a=2"})
    EXPECT_FALSE(Options::parse(text).ok()) << text;
  for (const auto text : {"level=0", "level=10", "level=", "level=3x", "level=99999999999999999999"}) {
    auto options = Options::parse(text);
    ASSERT_TRUE(options.ok());
    EXPECT_NE(options->take_integer("level", 1, 9, 5).status().message().find("1 to 9"), std::string::npos)
        << text;
  }
  auto options = Options::parse("colour=red");
  EXPECT_NE(options->finish("zstd", "level=1..19").message().find("colour"), std::string::npos);
  EXPECT_NE(options->take_choice("colour", {"green"}, 0).status().message().find("green"), std::string::npos);
}

}  // namespace
}  // namespace homz::test
