// The founder's end. The rest of the space still works, errors tell what is lost with the founder,
// and all nodes hear of later deaths.
#include <signal.h>

#include <thread>

#include "ddss/ddss_fixture.h"

namespace iw::ddss {
namespace {

ddss_key_t allocate_named(const char* name) {
  ddss_allocation_t how{};
  how.name = name;
  how.placement = DDSS_LOCAL;
  return ddss_allocate(8, DDSS_STRICT, &how);
}

// Waits until so many nodes are left. Polls, because no call waits for a death.
bool comes_down_to(int nodes) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (ddss_nodes() > nodes && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  return ddss_nodes() == nodes;
}

}  // namespace

// Founds the space, says its address and the key of a named segment, takes the lock of the key that
// it is told, and lives until it is killed.
ROLE(mortal_founder) {
  ddss_options_t options{};
  options.pool_bytes = small_pool;
  options.timeout_ms = patient_ms;
  if (ddss_init(&options) != 0) return 1;
  parent.say(std::string(ddss_address()));
  parent.say(text_of(allocate_named("lost")));
  parent.say_value(ddss_acquire_lock(key_of(parent.hear_text())));
  parent.hear();
  return 0;
}

// Takes the lock of the key that it is told and lets it go, then says how many nodes are left
// whenever it is told how many there should be.
ROLE(survivor) {
  if (!join(parent)) return 1;
  const std::string key = parent.hear_text();
  if (!key.empty()) {
    const int acquired = ddss_acquire_lock(key_of(key));
    parent.say_value(acquired != 0 ? acquired : ddss_release_lock(key_of(key)));
  }
  for (int nodes; (nodes = parent.hear_value<int>()) != 0;) {
    parent.say_value(comes_down_to(nodes) ? nodes : ddss_nodes());
  }
  return 0;
}

// This process joins a space whose founder, node 0, is a child.
class Founders : public ::testing::TestWithParam<const char*> {
 protected:
  Founders() {
    setenv("IW_FABRIC", GetParam(), 1);
    founder_ = std::make_unique<Child>("mortal_founder");
    address_ = founder_->line().hear_text();
    lost_ = key_of(founder_->line().hear_text());
  }
  ~Founders() override {
    survivors_.clear();
    ddss_finish();
  }
  void join_here() {
    ddss_options_t options{};
    options.join = address_.c_str();
    options.pool_bytes = small_pool;
    options.timeout_ms = patient_ms;
    ASSERT_EQ(ddss_init(&options), 0) << ddss_error_text(ddss_errno());
  }
  // Lets it take the lock of `key`, if that is not empty.
  Child& add_survivor(const std::string& key = "") {
    Child& child = survivors_.emplace_back("survivor");
    child.line().say(address_);
    EXPECT_GT(child.line().hear_value<int>(), 0);
    child.line().say(key);
    return child;
  }
  static int nodes_seen_by(const Child& child, int nodes) {
    child.line().say_value(nodes);
    return child.line().hear_value<int>();
  }
  std::unique_ptr<Child> founder_;
  std::string address_;
  ddss_key_t lost_ = 0;
  std::deque<Child> survivors_;
};
OVER_ALL_TRANSPORTS(Founders);

TEST_P(Founders, WhoDieLeaveTheirLocksToTheOthersAndTakeTheirSegmentsAlong) {
  join_here();  // node 1
  const ddss_key_t key = allocate_on(1, 8, DDSS_STRICT);
  founder_->line().say(text_of(key));
  ASSERT_EQ(founder_->line().hear_value<int>(), 0) << "it holds the lock";
  const Child& waiter = add_survivor(text_of(key));
  for (std::uint64_t word = 0; (word >> 32 & 0xffff) != 2;) {
    ASSERT_EQ(ddss_lock_word(key, &word), 0);
  }
  std::uint64_t value = 5;
  ASSERT_EQ(ddss_put(lost_, &value, 8), 0);
  founder_->kill();
  EXPECT_EQ(waiter.line().hear_value<int>(), 0) << "the lock was recovered";
  EXPECT_TRUE(comes_down_to(2));
  // These still work.
  EXPECT_EQ(ddss_put(key, &value, 8), 0);
  EXPECT_EQ(ddss_get(key, &value, 8), 0);
  EXPECT_EQ(ddss_put(allocate_on(2, 8, DDSS_STRICT), &value, 8), 0);
  for (int i = 0; i < 3; i++) {
    ddss_description_t is{};
    ASSERT_EQ(ddss_describe(ddss_allocate(8, DDSS_NULL, nullptr), &is), 0);
    EXPECT_NE(is.data_node, 0);
  }
  // These are lost with the founder.
  EXPECT_EQ(ddss_get(lost_, &value, 8), DDSS_ENODE);
  EXPECT_EQ(ddss_try_lock(lost_), DDSS_ENODE);
  EXPECT_EQ(ddss_acquire_lock(lost_), DDSS_ENODE);
  EXPECT_EQ(allocate_named("lost"), 0u);
  EXPECT_EQ(ddss_errno(), DDSS_ENODE);
  Child late("survivor");
  late.line().say(address_);
  EXPECT_EQ(late.line().hear_value<int>(), DDSS_ENODE) << "nobody joins any more";
}

// This process is node 2. The survivors know each other only through the founder.
// [DDSS-MEMBER-4]
TEST_P(Founders, WhoDieAreFollowedByOneWhoTellsOfLaterDeaths) {
  Child& next = add_survivor();
  join_here();
  Child& third = add_survivor();
  const Child& witness = add_survivor();
  ASSERT_EQ(ddss_await_nodes(5), 0);
  founder_->kill();
  EXPECT_TRUE(comes_down_to(4));
  third.kill();
  EXPECT_TRUE(comes_down_to(3));
  EXPECT_EQ(nodes_seen_by(witness, 3), 3);
  EXPECT_EQ(nodes_seen_by(next, 3), 3);
  next.kill();
  EXPECT_TRUE(comes_down_to(2));
  EXPECT_EQ(nodes_seen_by(witness, 2), 2);
}

// The node that would have taken the founder's place dies, too, and so does one that would have
// reported to it.
TEST_P(Founders, WhoDieTogetherWithOthersAreAllFoundOut) {
  Child& next = add_survivor();
  join_here();
  Child& third = add_survivor();
  const Child& witness = add_survivor();
  ASSERT_EQ(ddss_await_nodes(5), 0);
  for (Child* each : {founder_.get(), &next, &third}) each->stop();
  for (Child* each : {founder_.get(), &next, &third}) each->kill();
  EXPECT_TRUE(comes_down_to(2));
  EXPECT_EQ(nodes_seen_by(witness, 2), 2);
}

}  // namespace iw::ddss
