#include "types/mip.h"

#include <gtest/gtest.h>

#include <string>

namespace iw::types {
namespace {

Url url_of(const std::string& text) {
  Url url;
  const Result result = parse_url(text, url);
  EXPECT_TRUE(result.ok()) << result.text;
  return url;
}

void expect_bad(const std::string& text) {
  Mip mip;
  const Result result = parse_mip(text, mip);
  EXPECT_EQ(result.code, error_code::BAD_URL) << text;
  EXPECT_NE(result.text, "");
}

TEST(Mip, CanonicalTextHasSchemeLowerCaseHostAndPort) {
  EXPECT_EQ(url_of("127.0.0.1/list").text(), "iw://127.0.0.1:7747/list");
  EXPECT_EQ(url_of("iw://Example.ORG:99/A/b").text(), "iw://example.org:99/A/b");
  EXPECT_EQ(url_of("[::1]/x").text(), "iw://[::1]:7747/x");
  EXPECT_EQ(url_of("[FE80::1%eth0]:1/x").text(), "iw://[fe80::1%eth0]:1/x");
  EXPECT_EQ(url_of("unix:/run/iw.sock:/list").text(), "unix:/run/iw.sock:/list");
  EXPECT_EQ(url_of("unix:/run/iw.sock:/list").server(), "unix:/run/iw.sock");
}

TEST(Mip, Mip7AUrlMayNameSeveralHostsOfOneSpace) {
  const Url url = url_of("iws://B.example,a.example:80,[::1]/x");
  EXPECT_EQ(url.text(), "iws://b.example:7747,a.example:80,[::1]:7747/x");
  EXPECT_EQ(url.server(), "iws://b.example:7747,a.example:80,[::1]:7747");
  const std::vector<Url> each = url.of_each_host();
  ASSERT_EQ(each.size(), 3u);
  EXPECT_EQ(each[0].server(), "iws://b.example:7747");
  EXPECT_EQ(each[1].server(), "iws://a.example:80");
  EXPECT_EQ(each[2].text(), "iws://[::1]:7747/x");
  EXPECT_NE(url, url_of("iws://a.example:80,b.example,[::1]/x")) << "another order, another server";
  EXPECT_EQ(url_of("a/x").of_each_host().size(), 1u);
}

TEST(Mip, TheExampleOfTheSpecification) {
  Mip mip;
  ASSERT_TRUE(parse_mip("127.0.0.1/list#1#1", mip).ok());
  EXPECT_EQ(mip_text(mip.url, mip.serial, mip.unit), "iw://127.0.0.1:7747/list#1#1");
  ASSERT_TRUE(parse_mip("127.0.0.1/list#head#1", mip).ok());
  EXPECT_EQ(mip.block_name, "head");
  EXPECT_EQ(mip.serial, 0U);
  EXPECT_EQ(mip.unit, 1U);
  EXPECT_EQ(mip_text(mip.url, 7, 0), "iw://127.0.0.1:7747/list#7");
  ASSERT_TRUE(parse_mip("127.0.0.1/list", mip).ok());
  EXPECT_EQ(mip.serial, 0U);
}

TEST(Mip, CanonicalTextParsesToItself) {
  for (const char* text : {"iw://a:1/x#281474976710655#18446744073709551615", "unix:sock:/p#3",
                           "iw://[::ffff:1.2.3.4]:7747/a/b/c#1#2"}) {
    Mip mip;
    ASSERT_TRUE(parse_mip(text, mip).ok()) << text;
    EXPECT_EQ(mip_text(mip.url, mip.serial, mip.unit), text);
  }
}

TEST(Mip, WhatIsNoMipIsRefused) {
  for (const char* text : {"",
                           "list",
                           "host",
                           "/list",
                           ":7747/list",
                           "host:/x",
                           "host:0/x",
                           "host:65536/x",
                           "host:1x/x",
                           "::1/x",
                           "[::1/x",
                           "[::1]x/x",
                           "[]/x",
                           "[12]/x",
                           "http://host/x",
                           "ho st/x",
                           "unix:/run/sock",
                           "unix::/x",
                           "host/x#",
                           "host/x##1",
                           "host/x#0",
                           "host/x#01",
                           "host/x#1a",
                           "host/x#281474976710656",
                           "host/x#1#",
                           "host/x#1#a",
                           "host/x#1#1#1",
                           "host/x#1#18446744073709551616",
                           "host/x#1#-1",
                           "host/x\x01",
                           "host/\xFF",
                           "iw://host"}) {
    expect_bad(text);
  }
  expect_bad("host/x\n#1");
  expect_bad("host/" + std::string(1024, 'x'));
  expect_bad("host/x#" + std::string(256, 'n'));
  expect_bad("host/" + std::string(5000, 'x'));
}

TEST(Mip, TlsStaysInTheCanonicalText) {
  Url url;
  ASSERT_TRUE(parse_url("iws://Host/x", url).ok());
  EXPECT_TRUE(url.secure);
  EXPECT_EQ(url.text(), "iws://host:7747/x");
  Url plain;
  ASSERT_TRUE(parse_url("iw://host/x", plain).ok());
  EXPECT_FALSE(plain.secure);
  EXPECT_NE(url.server(), plain.server());
}

TEST(Mip, BlockNames) {
  EXPECT_TRUE(is_block_name("head"));
  EXPECT_TRUE(is_block_name("Zürich"));
  EXPECT_FALSE(is_block_name(""));
  EXPECT_FALSE(is_block_name("1st"));
  EXPECT_FALSE(is_block_name("a#b"));
  EXPECT_FALSE(is_block_name("a\tb"));
}

}  // namespace
}  // namespace iw::types
