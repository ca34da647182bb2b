// Tests of the contract run once for each mechanism of this machine. With IW_TRACKER set they run
// for that one only, and it must work.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "platform/memory.h"
#include "track/tracker.h"

namespace iw::track {

using Pages = std::set<std::size_t>;

inline bool is_forced() {
  const char* forced = std::getenv("IW_TRACKER");
  return forced != nullptr && *forced != '\0';
}

// Of the environment; null: not in it.
inline void set_variable(const char* name, const char* value) {
#if defined(_WIN32)
  _putenv_s(name, value == nullptr ? "" : value);
#else
  if (value == nullptr) {
    unsetenv(name);
  } else {
    setenv(name, value, 1);
  }
#endif
}

inline std::vector<std::string> names_to_test() {
  if (is_forced()) return {std::getenv("IW_TRACKER")};
  const auto names = tracker_names();
  return {names.begin(), names.end()};
}

class EachTracker : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    Status status;
    tracker_ = find_tracker(GetParam(), status);
    if (tracker_ != nullptr) return;
    const std::string why = GetParam() + " does not work here: " + status.what;
    // A mechanism that the system lacks is skipped; one that it has and that misbehaves is not.
    if (is_forced() || status.code == ENOTSUP) FAIL() << why;
    GTEST_SKIP() << why;
  }

  // Lists exactly the pages stored to (scan lists those again that were never committed).
  [[nodiscard]] bool is_exact() const {
    return GetParam() == "wp-async" || GetParam() == "sigsegv";
  }
  [[nodiscard]] bool traps_stores() const { return GetParam() == "sigsegv"; }
  [[nodiscard]] Tracker& tracker() const { return *tracker_; }

  [[nodiscard]] std::unique_ptr<Area> new_area(std::size_t pages, bool read_only = false) const {
    Status status;
    auto area = tracker_->create(pages * platform::page_size(), nullptr, read_only, -1, status);
    EXPECT_NE(area, nullptr) << status.what;
    return area;
  }

 private:
  Tracker* tracker_ = nullptr;
};

inline std::uint32_t& word_of(std::byte* memory, std::size_t page, std::size_t word = 0) {
  return reinterpret_cast<std::uint32_t*>(memory + page * platform::page_size())[word];
}
inline std::uint32_t volatile& view_word(Area& area, std::size_t page, std::size_t word = 0) {
  return word_of(area.view(), page, word);
}

inline Pages pages_of(const std::vector<PageRange>& ranges) {
  Pages pages;
  for (const PageRange& range : ranges) {
    for (std::size_t at = range.begin_bytes; at < range.end_bytes; at += platform::page_size()) {
      pages.insert(at / platform::page_size());
    }
  }
  return pages;
}

inline Pages collected(Area& area) {
  std::vector<PageRange> dirty{{1, 2}};
  const Status status = area.collect(dirty);
  EXPECT_TRUE(status.ok()) << status.what;
  for (std::size_t i = 1; i < dirty.size(); ++i) {
    EXPECT_GT(dirty[i].begin_bytes, dirty[i - 1].end_bytes) << "not sorted or not coalesced";
  }
  return pages_of(dirty);
}

inline PageRange page_range(std::size_t first, std::size_t count = 1) {
  return {first * platform::page_size(), (first + count) * platform::page_size()};
}

inline Status commit_pages(Area& area, std::size_t first, std::size_t count = 1) {
  const PageRange range = page_range(first, count);
  return area.commit({&range, 1});
}

inline Status rollback_pages(Area& area, std::size_t first, std::size_t count = 1) {
  const PageRange range = page_range(first, count);
  return area.rollback({&range, 1});
}

inline Status apply_word(Area& area, std::size_t page, std::size_t word, std::uint32_t value) {
  return area.apply(page * platform::page_size() + word * sizeof value, &value, sizeof value);
}

#define IW_FOR_EACH_TRACKER(fixture)                                                          \
  INSTANTIATE_TEST_SUITE_P(Mechanism, fixture, testing::ValuesIn(names_to_test()),            \
                           [](const testing::TestParamInfo<std::string>& info) {              \
                             std::string name = info.param;                                   \
                             for (char& c : name) {                                           \
                               if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_'; \
                             }                                                                \
                             return name;                                                     \
                           })

}  // namespace iw::track
