// Nodes that leave at the same time, so that each hears of other nodes' ends while it closes. Nodes
// that come when others have left.
#include <thread>

#include "ddss/ddss_fixture.h"

namespace iw::ddss {
namespace {

constexpr int nodes = 6, rounds = 8;

}  // namespace

// Reaches a segment of each other node, and leaves when they leave.
ROLE(leaver) {
  if (!join(parent)) return 1;
  ddss_allocation_t how{};
  how.placement = DDSS_LOCAL;
  parent.say(text_of(ddss_allocate(8, DDSS_NULL, &how)));
  std::uint64_t value = 0;
  for (int i = 0; i < nodes; i++) {
    if (ddss_get(key_of(parent.hear_text()), &value, sizeof value) != 0) return 2;
  }
  parent.say_value(0);
  parent.hear_text();
  return ddss_finish();
}

class Leaving : public Space {};

TEST_P(Leaving, AtTheSameTimeIsNobodysEnd) {
  for (int round = 0; round < rounds; round++) {
    std::deque<Child> leavers;
    std::vector<std::string> keys;
    for (int i = 0; i < nodes; i++) {
      Child& leaver = leavers.emplace_back("leaver");
      leaver.line().say(std::string(ddss_address()));
      ASSERT_GT(leaver.line().hear_value<int>(), 0);
      keys.push_back(leaver.line().hear_text());
    }
    for (const Child& leaver : leavers) {
      for (const std::string& key : keys) leaver.line().say(key);
    }
    for (const Child& leaver : leavers) EXPECT_EQ(result(leaver), 0);
    for (const Child& leaver : leavers) leaver.line().say(std::string("leave"));
    for (Child& leaver : leavers) EXPECT_EQ(leaver.wait_for_end(), 0);
  }
}

// Would wait far longer than its parent for the news of an unknown node. Says the result of a get
// of the key, and whether it created the named segment.
ROLE(newcomer) {
  if (!join(parent, 3'600'000)) return 1;
  std::uint64_t value = 0;
  parent.say_value(ddss_get(key_of(parent.hear_text()), &value, sizeof value));
  parent.say_value(claim("mortal"));
  parent.hear();
  return 0;
}

TEST_P(Leaving, IsKnownAtOnceToWhoComesLater) {
  Child& mortal = add("leaver");
  mortal.line().hear_text();
  ddss_allocation_t how{};
  how.name = "mortal";
  how.placement = DDSS_NODE;
  how.node = 1;
  const ddss_key_t key = ddss_allocate(8, DDSS_NULL, &how);
  ASSERT_NE(key, 0u) << ddss_error_text(ddss_errno());
  mortal.kill();
  while (ddss_nodes() > 1) std::this_thread::yield();
  const Child& newcomer = add("newcomer");
  newcomer.line().say(text_of(key));
  EXPECT_EQ(result(newcomer), DDSS_ENODE);
  EXPECT_EQ(result(newcomer), 1) << "it creates the name's segment anew";
}

OVER_ALL_TRANSPORTS(Leaving);

}  // namespace iw::ddss
