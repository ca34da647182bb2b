// Handlers of AM_PAR bundles that nobody polls. One at a time runs in a bundle. Those of two
// bundles run at the same time.
#include <atomic>
#include <deque>
#include <thread>

#include "am/am_processes.h"
#include "fabric/service.h"

using namespace iw::am_test;
using namespace std::chrono_literals;

namespace {

std::atomic<int> inside{0}, most_inside{0}, entered{0};
std::atomic<bool> may_leave{false};

// A handler that returns when it is let go, or after a while.
void stays(void*) {
  const int now = ++inside;
  for (int seen = most_inside; now > seen && !most_inside.compare_exchange_weak(seen, now);) {
  }
  entered++;
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (!may_leave && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  inside--;
}

class Unpolled : public ::testing::Test {
 protected:
  Unpolled() {
    inside = most_inside = entered = 0;
    may_leave = false;
  }
  ~Unpolled() override { may_leave = true; }
  void add_bundles(std::size_t count) {
    for (std::size_t i = 0; i < count; i++) {
      asked_.emplace_back(AM_PAR).set(1, handler(&stays));
      index_.push_back(here_.map(asked_.back().name));
    }
  }
  void ask_each() {
    for (const int index : index_) ASSERT_EQ(AM_Request0(here_.ep, index, 1), AM_OK);
  }
  const Library library_;
  const Endpoint here_;
  std::deque<Endpoint> asked_;
  std::vector<int> index_;
};

}  // namespace

TEST_F(Unpolled, ABundlesLongHandlerHoldsUpNoOthers) {
  add_bundles(3);
  ask_each();
  EXPECT_TRUE(here_.poll_until([] { return inside == 3; }));
}

TEST_F(Unpolled, HandlersOfABundleRunOneAtATime) {
  add_bundles(1);
  for (int i = 0; i < 8; i++) ask_each();
  ASSERT_TRUE(here_.poll_until([] { return entered == 1; }));
  // While the first handler stays, another thread of the library runs a handler of a second bundle.
  // So that thread could have run one of the first bundle.
  add_bundles(1);
  ASSERT_EQ(AM_Request0(here_.ep, index_.back(), 1), AM_OK);
  ASSERT_TRUE(here_.poll_until([] { return entered == 2; }));
  EXPECT_EQ(inside, 2);
  may_leave = true;
  EXPECT_TRUE(here_.poll_until([] { return entered == 9; }));
  EXPECT_EQ(most_inside, 2) << "one of each bundle";
}

TEST_F(Unpolled, MoreLongHandlersThanThereAreThreadsTakeTurns) {
  constexpr auto most = static_cast<int>(iw::fabric::Service::threads_max);
  add_bundles(most + 4);
  ask_each();
  ASSERT_TRUE(here_.poll_until([] { return inside == most; }));
  may_leave = true;
  EXPECT_TRUE(here_.poll_until([] { return entered == most + 4; }));
  EXPECT_EQ(most_inside, most);
}
