// The cache's promise with real processes: what was written before a request is in its answer.
#include <gtest/gtest.h>

#include <csignal>

#include "active_cache/front_end.h"
#include "space/test_space.h"

namespace active_cache {
namespace {

using services::Founder;
using services::Segment;
using services::Space;

constexpr int changes_wanted = 100;
constexpr char finished_name[] = "test: the last update that is finished";
constexpr char over_name[] = "test: updates end";

std::uint64_t number_in(const std::string& text) {
  return std::stoull(text.substr(text.find(' ')));
}

}  // namespace

ROLE(back_end) {
  const Space space = Space::found();
  Items items;
  items.set("a", "1");
  items.set("b", "1");
  parent.say(std::string(ddss_address()));
  return parent.hear_text() == "end" ? 0 : 1;
}

// Writes 2, 3 ... until it is told to end, and says of each when it is finished.
ROLE(item_writer) {
  const Space space = Space::join(parent.hear_text());
  Items items;
  const auto finished = Segment<std::uint64_t>::named(finished_name, DDSS_NULL);
  const auto over = Segment<std::uint64_t>::named(over_name, DDSS_NULL);
  for (std::uint64_t number = 2; over.get() == 0; number++) {
    items.set("a", std::to_string(number));
    finished.put(number);
  }
  return 0;
}

TEST(ActiveCache, NeverAnswersWithWhatAFinishedUpdateReplaced) {
  const Founder back_end("back_end");
  const Space space = Space::join(back_end.address());
  const auto finished = Segment<std::uint64_t>::named(finished_name, DDSS_NULL);
  const auto over = Segment<std::uint64_t>::named(over_name, DDSS_NULL);
  FrontEnd front_end;
  std::uint64_t answered = number_in(front_end.answer("a").text);
  EXPECT_EQ(answered, 1u);
  iw::testing::Child writer("item_writer");
  writer.line().say(back_end.address());
  for (int changes = 0; changes < changes_wanted;) {
    const std::uint64_t written = finished.get();
    const std::uint64_t number = number_in(front_end.answer("a").text);
    ASSERT_GE(number, written) << "stale";
    ASSERT_GE(number, answered) << "an older answer than before";
    if (number > answered) changes++;
    answered = number;
  }
  over.put(1);
  EXPECT_EQ(writer.wait_for_end(), 0);
}

TEST(ActiveCache, KeepsAnswersUntilOneOfTheirItemsChanges) {
  const Founder back_end("back_end");
  const Space space = Space::join(back_end.address());
  Items items;
  FrontEnd front_end;
  EXPECT_FALSE(front_end.answer("a+b").was_kept);
  EXPECT_TRUE(front_end.answer("a+b").was_kept);
  items.set("b", "2");
  const Answer changed = front_end.answer("a+b");
  EXPECT_FALSE(changed.was_kept);
  EXPECT_EQ(changed.text, "a: 1\nb: 2\n");
  EXPECT_TRUE(front_end.answer("a+b").was_kept);
  EXPECT_THROW(front_end.answer("a+nothing"), services::Failure);
}

TEST(ActiveCache, AnswersKeptPagesWhileTheBackEndIsStopped) {
  const Founder back_end("back_end");
  const Space space = Space::join(back_end.address());
  FrontEnd front_end;
  const std::string text = front_end.answer("a+b").text;
  if (ddss_is_onesided(Items().find("a").key()) != 1)
    GTEST_SKIP() << "over this transport it helps";
  back_end.child().stop();
  const Answer kept = front_end.answer("a+b");
  back_end.child().go_on();
  EXPECT_TRUE(kept.was_kept);
  EXPECT_EQ(kept.text, text);
}

}  // namespace active_cache
