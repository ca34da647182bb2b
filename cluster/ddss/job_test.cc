// A job under mpirun: its processes meet by PMIx and are the nodes of one space.
#include <filesystem>
#include <thread>

#include "ddss/ddss_fixture.h"

namespace iw::ddss {
namespace {

constexpr int nodes = 4;

// The segment of that name, on node 0, which leaves last. 0: an error.
ddss_key_t counter(const char* name, int* was_created) {
  ddss_allocation_t how{};
  how.name = name;
  how.placement = DDSS_NODE;
  how.node = 0;
  how.was_created = was_created;
  return ddss_allocate(sizeof(std::uint64_t), DDSS_STRICT, &how);
}

int add(ddss_key_t key, std::uint64_t amount) {
  std::uint64_t value = 0;
  int error = ddss_acquire_lock(key);
  if (error != 0) return error;
  error = ddss_get(key, &value, sizeof value);
  value += amount;
  if (error == 0) error = ddss_put(key, &value, sizeof value);
  const int released = ddss_release_lock(key);
  return error != 0 ? error : released;
}

// Has no deadline, because mpirun has one.
int wait_until_is(ddss_key_t key, std::uint64_t wanted) {
  for (std::uint64_t value = 0;;) {
    const int error = ddss_get(key, &value, sizeof value);
    if (error != 0 || value == wanted) return error;
    std::this_thread::yield();
  }
}

}  // namespace

// All nodes add to one segment, see the sum of all, and say whether they created the segment.
ROLE(job_member) {
  ddss_options_t options{};
  options.pool_bytes = small_pool;
  options.timeout_ms = patient_ms;
  if (ddss_init(&options) != 0) return 1;
  if (ddss_nodes() != nodes) return 2;
  int was_created = 0, is_not_asked = 0;
  const ddss_key_t sum = counter("sum", &was_created), created = counter("created", &is_not_asked),
                   left = counter("left", &is_not_asked);
  if (sum == 0 || created == 0 || left == 0) return 3;
  if (add(created, was_created != 0 ? 1 : 0) != 0) return 4;
  if (add(sum, 1u << 8 * ddss_node()) != 0) return 5;
  if (wait_until_is(sum, 0x01010101) != 0) return 6;
  std::uint64_t creators = 0;
  if (ddss_get(created, &creators, sizeof creators) != 0 || creators != 1) return 7;
  if (add(left, 1) != 0) return 8;
  if (ddss_node() == 0 && wait_until_is(left, nodes) != 0) return 9;
  return ddss_finish() == 0 ? 0 : 10;
}

class Jobs : public ::testing::TestWithParam<const char*> {};
OVER_ALL_TRANSPORTS(Jobs);

TEST_P(Jobs, OfFourUnderMpirunAreOneSpace) {
  setenv("IW_FABRIC", GetParam(), 1);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command = "timeout 60 mpirun -np " + std::to_string(nodes) +
                              " --allow-run-as-root --oversubscribe '" + self +
                              "' --role job_member";
  EXPECT_EQ(system(command.c_str()), 0);
}

}  // namespace iw::ddss
