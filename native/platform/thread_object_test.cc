#include "platform/thread_object.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace iw::platform {
namespace {

std::vector<std::string> ended;

struct Mine {
  std::string text;
  std::vector<int> numbers;

  // As it was, and still the thread's.
  ~Mine() {
    Mine& again = object_of_this_thread<Mine>();
    ended.push_back(again.text + std::to_string(again.numbers.size()));
  }
};

TEST(ThreadObject, IsDestroyedWhenItsThreadEndsAndCanBeAskedForUntilThen) {
  ended.clear();
  for (const char* name : {"first, and long enough to be on the heap", "second"}) {
    std::thread([name] {
      EXPECT_EQ(object_of_this_thread<Mine>().text, "");
      object_of_this_thread<Mine>().text = name;
      object_of_this_thread<Mine>().numbers.resize(7);
      EXPECT_EQ(object_of_this_thread<Mine>().text, name);
    }).join();
  }
  EXPECT_EQ(ended,
            (std::vector<std::string>{"first, and long enough to be on the heap7", "second7"}));
}

}  // namespace
}  // namespace iw::platform
