// How a mechanism is chosen and forced. recommended() decides once per process, so each case is a
// process of its own.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "track/tracker_fixture.h"

namespace iw::track {
namespace {

[[noreturn]] void choose_and_exit(const char* forced) {
  set_variable("IW_TRACKER", forced);
  Status status;
  Tracker& tracker = recommended();
  auto area = tracker.create(platform::page_size(), nullptr, false, -1, status);
  std::fprintf(stderr, "%s: %s\n", tracker.name(), area != nullptr ? "works" : status.what);
  std::_Exit(area != nullptr ? 0 : 1);
}

std::string first_that_works() {
  for (const char* name : tracker_names()) {
    Status status;
    if (find_tracker(name, status) != nullptr) return name;
  }
  return "none";
}

TEST(Recommended, IsTheFirstThatWorks) {
  EXPECT_EXIT(choose_and_exit(nullptr), testing::ExitedWithCode(0), first_that_works() + ": works");
}

TEST(Recommended, CanBeForced) {
  EXPECT_EXIT(choose_and_exit("compare"), testing::ExitedWithCode(0), "compare: works");
  EXPECT_EXIT(choose_and_exit("sigsegv"), testing::ExitedWithCode(0), "sigsegv: works");
}

TEST(Recommended, AnUnknownNameIsAnErrorThatNamesTheChoices) {
  EXPECT_EXIT(choose_and_exit("magic"), testing::ExitedWithCode(1),
              "IW_TRACKER=magic: unknown write tracker.*wp-async, scan, sigsegv, compare");
}

TEST(Recommended, FindTrackerSaysWhyNot) {
  Status status;
  EXPECT_EQ(find_tracker("magic", status), nullptr);
  EXPECT_FALSE(status.ok());
}

}  // namespace
}  // namespace iw::track
