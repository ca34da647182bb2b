// The protocol's messages as C++ encodes and decodes them. The codec generator's own tests, which
// hold C++ against Rust over damaged bytes, are in idl/tests/codec.rs.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "protocol/descriptor.gen.h"
#include "protocol/error.gen.h"
#include "protocol/lock.gen.h"
#include "protocol/log.gen.h"
#include "protocol/session.gen.h"
#include "protocol/xdr.h"

namespace iw::protocol {
namespace {

using bytes = std::vector<std::uint8_t>;

template <typename T>
bytes encoded(const T& value) {
  bytes out;
  xdr::Writer writer(out);
  encode(writer, value);
  return out;
}

// Why the bytes are no T; empty if they are one.
template <typename T>
std::string refusal(const bytes& from) {
  xdr::Reader reader(from.data(), from.size());
  T value;
  if (decode(reader, value) && reader.finish()) return "";
  return reader.error();
}

template <typename T>
void survives(const T& value) {
  const bytes out = encoded(value);
  xdr::Reader reader(out.data(), out.size());
  T again;
  ASSERT_TRUE(decode(reader, again)) << reader.error();
  EXPECT_EQ(reader.remaining(), 0U);
  EXPECT_TRUE(again == value);
}

hello a_hello() {
  hello h;
  h.magic = {'I', 'W', 'V', '1'};
  h.version_min = PROTOCOL_VERSION_MIN;
  h.version_max = PROTOCOL_VERSION_MAX;
  h.session.fill(7);
  h.token = "secret";
  h.client = "a program, in C++";
  return h;
}

type_descriptor a_union() {
  type_descriptor d;
  d.serial = FIRST_TYPE_SERIAL;
  d.name = "shape";
  d.body.kind = type_kind::UNION;
  d.body.choice.discriminant = "kind";
  d.body.choice.discriminant_type = static_cast<type_serial>(primitive::INT);
  d.body.choice.arms = {{"radius", 10, {1, -2}}, {"", 0, {3}}};
  d.body.choice.otherwise = std::make_unique<union_arm>(union_arm{"other", 5, {}});
  return d;
}

TEST(Codec, MessagesSurviveTheWayThroughBytes) {
  survives(a_hello());
  survives(a_union());
  survives(release_writer{9, {{1, 2, 3, 4}, {5, 6, 7, 8}}});
  survives(acquire_reader{1, {2, 3}, coherence_model::TEMPORAL, 0.5, true, 1000});
  survives(error_reply{error_code::FENCED, "the lease ended"});
}

TEST(Codec, AnEnvelopeIsBigEndian) {
  const envelope e{static_cast<std::int32_t>(message_type::HELLO), 2, 0x0102030405060708};
  EXPECT_EQ(encoded(e), (bytes{0, 0, 0, 16, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Codec, EqualityLooksBehindOptionals) {
  type_descriptor other = a_union();
  EXPECT_TRUE(other == a_union());
  other.body.choice.otherwise->name = "another";
  EXPECT_FALSE(other == a_union());
  other.body.choice.otherwise.reset();
  EXPECT_FALSE(other == a_union());
}

TEST(Codec, AUnionForgetsTheArmItHeld) {
  const bytes release = encoded(log_body{.kind = log_kind::LOG_SERIALS, .serials_below = 5});
  log_body body{.kind = log_kind::LOG_CREATE};
  body.create.path = "/left over";
  xdr::Reader reader(release.data(), release.size());
  ASSERT_TRUE(decode(reader, body));
  EXPECT_EQ(body.kind, log_kind::LOG_SERIALS);
  EXPECT_EQ(body.serials_below, 5U);
  EXPECT_EQ(body.create.path, "");
}

TEST(Codec, EveryBeginningOfAMessageIsTooShort) {
  const bytes whole = encoded(a_hello());
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_EQ(refusal<hello>(part), "the bytes end too early") << n;
  }
  bytes longer = whole;
  longer.push_back(0);
  EXPECT_EQ(refusal<hello>(longer), "bytes follow the value");
}

TEST(Codec, DeclaredBoundsHold) {
  error_reply reply{error_code::OK, std::string(MAX_ERROR_TEXT, 'x')};
  EXPECT_EQ(refusal<error_reply>(encoded(reply)), "");
  bytes beyond = {0, 0, 0, 0, 0, 0, 4, 1};
  beyond.resize(beyond.size() + MAX_ERROR_TEXT + 4, 'x');
  EXPECT_EQ(refusal<error_reply>(beyond), "a length or count is above its bound");
}

TEST(Codec, ACountWithoutItsBytesIsRefused) {
  // 16 parts of 44 bytes are announced; there is room for one.
  bytes few = {0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 16};
  few.resize(few.size() + 44);
  EXPECT_EQ(refusal<release_writer>(few), "the bytes end too early");
}

TEST(Codec, ValuesWithoutMeaningAreRefused) {
  EXPECT_EQ(refusal<error_reply>({0, 0, 0xff, 0xff, 0, 0, 0, 0}),
            "a number is not a member of its enum");
  EXPECT_EQ(refusal<error_reply>({0, 0, 0, 0, 0, 0, 0, 1, 'x', 0, 1, 0}), "padding is not zero");
  EXPECT_EQ(refusal<error_reply>({0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 0}), "a string is not UTF-8");
  bytes resolved = encoded(release_resolved{true, {1, 2, 3}});
  resolved[3] = 2;
  EXPECT_EQ(refusal<release_resolved>(resolved), "a bool is neither 0 nor 1");
}

TEST(Codec, NamesOfEnumsAreThoseOfTheSpecification) {
  EXPECT_STREQ(name_of(error_code::STORE_FULL), "STORE_FULL");
  EXPECT_STREQ(name_of(static_cast<error_code>(-1)), "?");
}

TEST(CodecDeathTest, EncodingBeyondABoundIsAMistakeOfTheCaller) {
  const error_reply reply{error_code::OK, std::string(MAX_ERROR_TEXT + 1, 'x')};
  EXPECT_DEATH(encoded(reply), "longer than its bound of 1024");
}

struct Utf8Case {
  std::string text;
  bool valid;
};

TEST(Codec, Utf8IsCheckedToTheLetter) {
  const Utf8Case cases[] = {
      {"", true},
      {"plain", true},
      {"\xc2\x80", true},
      {"\xdf\xbf", true},
      {"\xe0\xa0\x80", true},
      {"\xed\x9f\xbf", true},
      {"\xee\x80\x80", true},
      {"\xf0\x90\x80\x80", true},
      {"\xf4\x8f\xbf\xbf", true},
      {"\x80", false},              // no lead
      {"\xc1\xbf", false},          // overlong
      {"\xe0\x9f\xbf", false},      // overlong
      {"\xf0\x8f\xbf\xbf", false},  // overlong
      {"\xed\xa0\x80", false},      // a surrogate
      {"\xf4\x90\x80\x80", false},  // above U+10FFFF
      {"\xf5\x80\x80\x80", false},
      {"\xc3", false},  // cut off
      {"\xe2\x82", false},
      {"\xe2\x28\xa1", false},  // a letter within
  };
  for (const Utf8Case& c : cases) {
    const auto* p = reinterpret_cast<const std::uint8_t*>(c.text.data());
    EXPECT_EQ(xdr::is_utf8(p, c.text.size()), c.valid) << testing::PrintToString(c.text);
  }
}

TEST(Codec, FloatingPointKeepsItsBits) {
  for (double x : {0.0, -0.0, 1e-320, std::numeric_limits<double>::infinity(), std::nan("")}) {
    const acquire_reader request{1, {2, 3}, coherence_model::DELTA, x, false, 0};
    const bytes out = encoded(request);
    xdr::Reader reader(out.data(), out.size());
    acquire_reader again;
    ASSERT_TRUE(decode(reader, again));
    EXPECT_EQ(encoded(again), out);
  }
}

}  // namespace
}  // namespace iw::protocol
