#include "swizzle/slot_table.h"

#include <gtest/gtest.h>

namespace iw::swizzle {
namespace {

using types::error_code;

types::Url url_of(const std::string& text) {
  types::Url url;
  EXPECT_TRUE(types::parse_url(text, url).ok());
  return url;
}

class SlotTableTest : public testing::Test {
 protected:
  std::uint16_t slot_for(const std::string& url) {
    std::uint16_t slot = 0;
    EXPECT_TRUE(table_.slot_for(url_of(url), slot).ok());
    return slot;
  }
  error_code receive(std::uint64_t first, const std::vector<std::string>& texts) {
    return table_.add_received(first, texts).code;
  }

  SlotTable table_{url_of("Host/segment")};
};

TEST_F(SlotTableTest, SpellsSegmentsOfTheSameServerByTheirPath) {
  EXPECT_EQ(slot_for("host:7747/other"), 1);
  EXPECT_EQ(slot_for("host:7748/other"), 2);
  EXPECT_EQ(slot_for("iw://HOST/other"), 1);
  EXPECT_EQ(slot_for("unix:/run/iw:/other"), 3);
  EXPECT_EQ(*table_.text_of(1), "/other");
  EXPECT_EQ(*table_.text_of(2), "iw://host:7748/other");
  EXPECT_EQ(*table_.text_of(3), "unix:/run/iw:/other");
  EXPECT_EQ(*table_.url_of(1), url_of("host/other"));
  EXPECT_EQ(table_.text_of(0), nullptr);
  EXPECT_EQ(table_.text_of(4), nullptr);
  EXPECT_EQ(table_.url_of(65535), nullptr);
}

TEST_F(SlotTableTest, ForgetsWhatWasNotCommitted) {
  slot_for("host/a");
  EXPECT_EQ(table_.first_uncommitted(), 1U);
  table_.commit();
  slot_for("host/b");
  slot_for("host/c");
  EXPECT_EQ(table_.first_uncommitted(), 2U);
  EXPECT_EQ(table_.uncommitted(), (std::vector<std::string>{"/b", "/c"}));
  table_.rollback();
  EXPECT_EQ(table_.size(), 1U);
  EXPECT_TRUE(table_.uncommitted().empty());
  EXPECT_EQ(slot_for("host/c"), 2);
  EXPECT_EQ(slot_for("host/a"), 1);
}

TEST_F(SlotTableTest, TakesWhatArrives) {
  EXPECT_EQ(receive(1, {"/a", "iw://h:1/b"}), error_code::OK);
  EXPECT_EQ(receive(2, {"iw://h:1/b", "/c"}), error_code::OK);
  EXPECT_EQ(table_.size(), 3U);
  EXPECT_EQ(*table_.url_of(3), url_of("host/c"));
  EXPECT_EQ(slot_for("host/c"), 3);
  EXPECT_EQ(table_.first_uncommitted(), 4U);
}

TEST_F(SlotTableTest, RefusesWhatCannotBeAndStaysAsItWas) {
  ASSERT_EQ(receive(1, {"/a"}), error_code::OK);
  EXPECT_EQ(receive(0, {"/b"}), error_code::MALFORMED);
  EXPECT_EQ(receive(3, {"/b"}), error_code::MALFORMED);
  EXPECT_EQ(receive(1, {"/b"}), error_code::MALFORMED);
  EXPECT_EQ(receive(2, {"/b", "no url at all"}), error_code::MALFORMED);
  EXPECT_EQ(receive(2, {"/b#7"}), error_code::MALFORMED);
  EXPECT_EQ(receive(~std::uint64_t{0}, {"/b"}), error_code::MALFORMED);
  EXPECT_EQ(receive(2, std::vector<std::string>(65535, "/b")), error_code::MALFORMED);
  EXPECT_EQ(table_.size(), 1U);
  const std::string late[] = {"/b"};
  const Result refused = table_.add_received(3, late);
  EXPECT_NE(refused.text.find("from 3 on, and the next is 2"), std::string::npos) << refused.text;
  const Result other = table_.add_received(1, late);
  EXPECT_NE(other.text.find("slot 1 is /a"), std::string::npos) << other.text;
}

TEST_F(SlotTableTest, ACompleteCopyReplacesAll) {
  ASSERT_EQ(receive(1, {"/a", "/b"}), error_code::OK);
  const std::vector<std::string> wrong{"/c", ""};
  EXPECT_EQ(table_.replace(wrong).code, error_code::MALFORMED);
  EXPECT_EQ(table_.size(), 2U);
  const std::vector<std::string> texts{"/c"};
  EXPECT_TRUE(table_.replace(texts).ok());
  EXPECT_EQ(table_.size(), 1U);
  EXPECT_EQ(slot_for("host/a"), 2);
}

TEST_F(SlotTableTest, IsFullAt65535) {
  std::vector<std::string> texts;
  for (int i = 0; i < 65535; ++i) texts.push_back(std::string("/").append(std::to_string(i)));
  ASSERT_EQ(receive(1, texts), error_code::OK);
  std::uint16_t slot = 0;
  EXPECT_EQ(table_.slot_for(url_of("host/one-more"), slot).code, error_code::TOO_LARGE);
  EXPECT_EQ(slot_for("host/65534"), 65535);
}

}  // namespace
}  // namespace iw::swizzle
