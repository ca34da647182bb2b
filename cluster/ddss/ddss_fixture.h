// Tests of DDSS with real processes. The test's process founds a space, and its children join.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cinttypes>
#include <cstdlib>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "interweave/ddss.h"
#include "testing/children.h"
#include "testing/transports.h"

namespace iw::ddss {

using testing::Child;
using testing::Line;

inline constexpr std::size_t small_pool = 4 << 20;

// How long calls wait for others: longer than a busy machine needs, and less long than a test waits
// for its children.
inline constexpr unsigned patient_ms = 50'000;
static_assert(std::chrono::milliseconds(patient_ms) < iw::testing::patience);
// For a process whose call must wait in vain. Its other calls may time out on a busy machine, so
// they are repeated until they are answered in time.
inline constexpr unsigned impatient_ms = 500;
template <typename Call>
int answered(Call call) {
  int result = DDSS_ETIMEDOUT;
  while (result == DDSS_ETIMEDOUT) result = call();
  return result;
}

// Called in a child: joins the space at the address that the parent says, and says its number.
inline bool join(const Line& parent, unsigned timeout_ms = patient_ms, int sleeps_at_once = 0) {
  const std::string address = parent.hear_text();
  ddss_options_t options{};
  options.join = address.c_str();
  options.pool_bytes = small_pool;
  options.timeout_ms = timeout_ms;
  options.sleeps_at_once = sleeps_at_once;
  const int error = ddss_init(&options);
  parent.say_value(error == 0 ? ddss_node() : error);
  return error == 0;
}

// Called in a child: allocates by a name. 1: this created the segment. 0: it was there. Else an
// error.
inline int claim(const char* name) {
  int was_created = 0;
  ddss_allocation_t how{};
  how.name = name;
  how.placement = DDSS_LOCAL;
  how.was_created = &was_created;
  return ddss_allocate(8, DDSS_NULL, &how) == 0 ? ddss_errno() : was_created;
}

inline std::string text_of(ddss_key_t key) { return std::to_string(key); }
inline ddss_key_t key_of(const std::string& text) { return std::stoull(text); }

// A space of this process and its children, over the transport of the test's parameter.
class Space : public ::testing::TestWithParam<const char*> {
 protected:
  Space() {
    setenv("IW_FABRIC", GetParam(), 1);
    ddss_options_t options{};
    options.pool_bytes = small_pool;
    options.timeout_ms = patient_ms;
    EXPECT_EQ(ddss_init(&options), 0) << ddss_error_text(ddss_errno());
  }
  // Ends the children first, which would otherwise choose a node in the founder's place.
  ~Space() override {
    children_.clear();
    ddss_finish();
  }
  // A child that joined; its number is its index + 1.
  Child& add(const std::string& role) {
    Child& child = children_.emplace_back(role);
    child.line().say(std::string(ddss_address()));
    EXPECT_EQ(child.line().hear_value<int>(), static_cast<int>(children_.size()));
    EXPECT_EQ(ddss_await_nodes(ddss_nodes()), 0);
    return child;
  }
  // A child in the test's role `locker`, which obeys orders about the segment.
  Child& add_locker(ddss_key_t key) {
    Child& child = add("locker");
    child.line().say(text_of(key));
    return child;
  }
  static int result(const Child& child) { return child.line().hear_value<int>(); }
  static int tell(const Child& child, const char* order) {
    child.line().say(std::string(order));
    return result(child);
  }
  static bool is_shared_memory() { return std::string(GetParam()) == "shm"; }
  // The adapters put and get by themselves, but do not do the locks' atomics.
  static bool is_verbs() { return std::string(GetParam()) == "verbs"; }
  std::deque<Child> children_;
};

#define OVER_ALL_TRANSPORTS(suite)                                                       \
  INSTANTIATE_TEST_SUITE_P(Over, suite,                                                  \
                           ::testing::ValuesIn(iw::testing::transports({"shm", "tcp"})), \
                           [](const auto& each) { return std::string(each.param); })

inline std::vector<std::uint8_t> pattern(std::size_t size, unsigned seed) {
  std::vector<std::uint8_t> bytes(size);
  for (std::size_t i = 0; i < size; i++) bytes[i] = static_cast<std::uint8_t>(i * 31 + seed);
  return bytes;
}

inline ddss_key_t allocate_on(int node, std::size_t size, ddss_model_t model) {
  ddss_allocation_t how{};
  how.placement = DDSS_NODE;
  how.node = node;
  const ddss_key_t key = ddss_allocate(size, model, &how);
  EXPECT_NE(key, 0u) << ddss_error_text(ddss_errno());
  return key;
}

}  // namespace iw::ddss
