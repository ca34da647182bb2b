// Blocks, names, MIPs, pointers inside and between segments, stray stores, fork.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "abi/tests/server_process.h"
#include "interweave.h"
#include "platform/fault.h"

namespace iw::test {
namespace {

struct Node {
  int key;
  Node* next;
};

// What `struct test_node { int key; test_node *next; };` is compiled to.
extern const IW_type_def node_type;
const IW_type_def node_pointer = IW_POINTER_DEF("", &node_type);
const IW_field_def node_fields[] = {{"key", &IW_def_int, offsetof(Node, key)},
                                    {"next", &node_pointer, offsetof(Node, next)}};
const IW_type_def node_type =
    IW_RECORD_DEF("test_node", sizeof(Node), alignof(Node), node_fields, 2);

// A pointer so short that runs of changed words before and behind it are joined.
struct Linked {
  double value;
  Node* node;
  int after;
};
const IW_field_def linked_fields[] = {{"value", &IW_def_double, offsetof(Linked, value)},
                                      {"node", &node_pointer, offsetof(Linked, node)},
                                      {"after", &IW_def_int, offsetof(Linked, after)}};
const IW_type_def linked_type =
    IW_RECORD_DEF("test_linked", sizeof(Linked), alignof(Linked), linked_fields, 3);

// A record with units that have an inside.
struct LeafValue {
  int kind;
  union {
    double real;
    int number;
  } u;
};
struct Leaf {
  LeafValue value;
  char name[24];
  void* any;
};
const std::int32_t leaf_kinds[] = {1, 2};
const IW_arm_def leaf_arms[] = {{"real", &IW_def_double, offsetof(LeafValue, u), &leaf_kinds[0], 1},
                                {"number", &IW_def_int, offsetof(LeafValue, u), &leaf_kinds[1], 1}};
const IW_field_def leaf_discriminant = {"kind", &IW_def_int, 0};
const IW_type_def leaf_union =
    IW_UNION_DEF("test_leaf_value", sizeof(LeafValue), alignof(LeafValue), &leaf_discriminant,
                 leaf_arms, 2, nullptr);
const IW_type_def leaf_name = IW_STRING_DEF("", 23);
const IW_type_def leaf_any = IW_POINTER_DEF("", nullptr);
const IW_field_def leaf_fields[] = {{"value", &leaf_union, 0},
                                    {"name", &leaf_name, offsetof(Leaf, name)},
                                    {"any", &leaf_any, offsetof(Leaf, any)}};
const IW_type_def leaf_type =
    IW_RECORD_DEF("test_leaf", sizeof(Leaf), alignof(Leaf), leaf_fields, 3);

class Blocks : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const IW_type_t types[] = {&node_type, &linked_type, &leaf_type};
    ASSERT_EQ(IW_register_types(types, 3), 0);
  }
  void SetUp() override { ASSERT_TRUE(server_.good()); }

  IW_handle_t open(const std::string& path) {
    const IW_handle_t segment = IW_open_segment(server_.url(path).c_str());
    EXPECT_NE(segment, nullptr) << IW_strerror();
    return segment;
  }

  Server server_;
};

// [MIP-5]: one past the end, too.
TEST_F(Blocks, NamesAndSerialsAndOffsetsLeadToPlacesAndBack) {
  const IW_handle_t segment = open("/mips");
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  auto* const node = static_cast<Node*>(IW_malloc_named(segment, &node_type, "first"));
  ASSERT_NE(node, nullptr) << IW_strerror();
  EXPECT_EQ(IW_malloc_named(segment, &node_type, "first"), nullptr);
  EXPECT_EQ(IW_errno(), IW_EBAD_NAME) << IW_strerror();
  EXPECT_EQ(IW_malloc_named(segment, &node_type, "1st"), nullptr);
  EXPECT_EQ(IW_errno(), IW_EBAD_NAME);
  auto* const array = static_cast<Node*>(IW_malloc_array(segment, &node_type, 5, nullptr));
  ASSERT_NE(array, nullptr);
  const std::string base = "iw://" + server_.url("/mips");
  for (void* place : {static_cast<void*>(&node->key), static_cast<void*>(&node->next),
                      static_cast<void*>(&array[3].next), static_cast<void*>(array + 5)}) {
    const IW_mip_t mip = IW_ptr_to_mip(place);
    ASSERT_NE(mip, nullptr) << IW_strerror();
    EXPECT_EQ(std::string(mip).rfind(base + "#", 0), 0u) << mip;
    EXPECT_EQ(IW_mip_to_ptr(mip), place) << mip;
    IW_mip_free(mip);
  }
  EXPECT_EQ(IW_mip_to_ptr((server_.url("/mips") + "#first#1").c_str()), &node->next);
  EXPECT_EQ(IW_mip_to_ptr((server_.url("/mips") + "#first#3").c_str()), nullptr);
  EXPECT_EQ(IW_errno(), IW_EBAD_POINTER);
  EXPECT_EQ(IW_ptr_to_mip(reinterpret_cast<char*>(&node->key) + 1), nullptr);
  EXPECT_EQ(IW_errno(), IW_EBAD_POINTER);
  EXPECT_EQ(IW_ptr_to_mip(&base), nullptr);
  EXPECT_EQ(IW_errno(), IW_EBAD_POINTER);
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  EXPECT_EQ(IW_close_segment(segment), 0);
}

// [MIP-4]: other copies would be led to the unit's first byte, and versions would differ (P2).
TEST_F(Blocks, PointersIntoTheInsideOfStringsAndUnionsAreRefused) {
  const IW_handle_t segment = open("/leaves");
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  auto* const leaf = static_cast<Leaf*>(IW_malloc_named(segment, &leaf_type, "leaf"));
  ASSERT_NE(leaf, nullptr) << IW_strerror();
  std::strcpy(leaf->name, "a name");
  leaf->value.kind = 1;
  leaf->value.u.real = 2.5;
  for (void* inside : {static_cast<void*>(leaf->name + 5), static_cast<void*>(&leaf->value.u)}) {
    leaf->any = inside;
    EXPECT_EQ(IW_wl_release(segment), IW_EBAD_POINTER) << IW_strerror();
    EXPECT_EQ(IW_ptr_to_mip(inside), nullptr);
    EXPECT_EQ(IW_errno(), IW_EBAD_POINTER) << IW_strerror();
  }
  for (void* first : {static_cast<void*>(leaf->name), static_cast<void*>(&leaf->value)}) {
    const IW_mip_t mip = IW_ptr_to_mip(first);
    ASSERT_NE(mip, nullptr) << IW_strerror();
    EXPECT_EQ(IW_mip_to_ptr(mip), first);
    IW_mip_free(mip);
  }
  leaf->any = leaf->name;
  EXPECT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  EXPECT_EQ(IW_close_segment(segment), 0);
}

TEST_F(Blocks, WrongUrlsAreErrorsThatSayWhy) {
  for (const char* url : {"", "no-path", "iwx://127.0.0.1/x", "127.0.0.1:x/y", "127.0.0.1/a#b"}) {
    EXPECT_EQ(IW_open_segment(url), nullptr) << url;
    EXPECT_EQ(IW_errno(), IW_EBAD_URL) << url << ": " << IW_strerror();
    EXPECT_NE(std::string(IW_strerror()), "");
  }
  IW_open_options options{};
  options.size = sizeof options;
  EXPECT_EQ(IW_open_segment_with(server_.url("/none").c_str(), &options), nullptr);
  EXPECT_EQ(IW_errno(), IW_ENO_SEGMENT) << IW_strerror();
}

TEST_F(Blocks, AnUnregisteredTypeIsRefused) {
  const IW_handle_t segment = open("/types");
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  static const IW_type_def stranger =
      IW_RECORD_DEF("stranger", sizeof(Node), alignof(Node), node_fields, 2);
  EXPECT_EQ(IW_malloc(segment, &stranger), nullptr);
  EXPECT_EQ(IW_errno(), IW_EUNKNOWN_TYPE) << IW_strerror();
  EXPECT_EQ(IW_malloc(segment, nullptr), nullptr);
  ASSERT_EQ(IW_wl_abort(segment), 0);
  EXPECT_EQ(IW_close_segment(segment), 0);
}

TEST_F(Blocks, TenThousandBlocksInOneSection) {
  const IW_handle_t segment = open("/many");
  constexpr int count = 10000;
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  Node* last = nullptr;
  for (int i = 0; i < count; ++i) {
    auto* const node = static_cast<Node*>(IW_malloc(segment, &node_type));
    ASSERT_NE(node, nullptr) << i << ": " << IW_strerror();
    node->key = i;
    node->next = last;
    last = node;
  }
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  IW_stats_t stats{};
  stats.size = sizeof stats;
  ASSERT_EQ(IW_stats(segment, &stats), 0);
  EXPECT_EQ(stats.blocks, static_cast<std::uint64_t>(count));
  EXPECT_EQ(IW_close_segment(segment), 0);

  // Fetched again, whole.
  const IW_handle_t again = open("/many");
  ASSERT_EQ(IW_rl_acquire(again), 0) << IW_strerror();
  int seen = 0;
  const Node* tail = nullptr;
  for (void* at = IW_next_block(again, nullptr); at != nullptr; at = IW_next_block(again, at)) {
    const auto* const node = static_cast<Node*>(at);
    ASSERT_EQ(node->key, seen);
    ASSERT_EQ(node->next, tail);
    tail = node;
    ++seen;
  }
  EXPECT_EQ(seen, count);
  ASSERT_EQ(IW_rl_release(again), 0);
  EXPECT_EQ(IW_close_segment(again), 0);
}

TEST_F(Blocks, PointersLeadIntoOtherSegments) {
  const std::string from = server_.url("/from");
  const std::string to = server_.url("/to");
  const IW_handle_t first = open("/from");
  const IW_handle_t second = open("/to");
  ASSERT_EQ(IW_wl_acquire(first), 0) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(second), 0) << IW_strerror();
  auto* const target = static_cast<Node*>(IW_malloc_array(second, &node_type, 3, "target"));
  auto* const source = static_cast<Node*>(IW_malloc_named(first, &node_type, "source"));
  ASSERT_NE(target, nullptr);
  ASSERT_NE(source, nullptr);
  target[2].key = 22;
  source->next = &target[2];
  ASSERT_EQ(IW_wl_release(second), 0) << IW_strerror();
  ASSERT_EQ(IW_wl_release(first), 0) << IW_strerror();
  EXPECT_EQ(IW_close_segment(first), 0);
  EXPECT_EQ(IW_close_segment(second), 0);

  // Only the first is opened: the pointer leads to reserved space, and to data once it is locked.
  const IW_handle_t reader = open("/from");
  ASSERT_EQ(IW_rl_acquire(reader), 0) << IW_strerror();
  const auto* const again = static_cast<Node*>(IW_mip_to_ptr((from + "#source").c_str()));
  ASSERT_NE(again, nullptr) << IW_strerror();
  const Node* const far = again->next;
  ASSERT_NE(far, nullptr);
  EXPECT_EQ(far->key, 0) << "no data has moved";
  const IW_mip_t mip = IW_ptr_to_mip(far);
  ASSERT_NE(mip, nullptr) << IW_strerror();
  EXPECT_EQ(IW_mip_to_ptr((to + "#target#4").c_str()), far) << mip;
  IW_mip_free(mip);
  const IW_handle_t other = open("/to");
  ASSERT_EQ(IW_rl_acquire(other), 0) << IW_strerror();
  EXPECT_EQ(far->key, 22);
  ASSERT_EQ(IW_rl_release(other), 0);
  ASSERT_EQ(IW_rl_release(reader), 0);
  EXPECT_EQ(IW_close_segment(other), 0);
  EXPECT_EQ(IW_close_segment(reader), 0);
}

// Touching one tells the MIP and the reason, and ends the program.
TEST_F(Blocks, APointerToAFreedBlockIsAStubThatKeepsItsMipAndTellsWhy) {
  const IW_handle_t first = open("/from");
  const IW_handle_t second = open("/to");
  ASSERT_EQ(IW_wl_acquire(first), 0) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(second), 0) << IW_strerror();
  auto* const target = static_cast<Node*>(IW_malloc_named(second, &node_type, "target"));
  auto* const source = static_cast<Node*>(IW_malloc_named(first, &node_type, "source"));
  ASSERT_NE(target, nullptr);
  ASSERT_NE(source, nullptr);
  source->next = target;
  const IW_mip_t mip = IW_ptr_to_mip(target);
  ASSERT_EQ(IW_wl_release(second), 0) << IW_strerror();
  ASSERT_EQ(IW_wl_release(first), 0) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(second), 0) << IW_strerror();
  ASSERT_EQ(IW_free(second, target), 0) << IW_strerror();
  ASSERT_EQ(IW_wl_release(second), 0) << IW_strerror();
  ASSERT_EQ(IW_close_segment(first), 0);
  ASSERT_EQ(IW_close_segment(second), 0);

  const IW_handle_t reader = open("/from");
  ASSERT_EQ(IW_rl_acquire(reader), 0) << IW_strerror();
  const auto* const again =
      static_cast<Node*>(IW_mip_to_ptr((server_.url("/from") + "#source").c_str()));
  ASSERT_NE(again, nullptr) << IW_strerror();
  const IW_mip_t kept = IW_ptr_to_mip(again->next);
  ASSERT_NE(kept, nullptr) << IW_strerror();
  EXPECT_STREQ(kept, mip);
  EXPECT_DEATH(std::fprintf(stderr, "%d", again->next->key), "no such block");
  IW_mip_free(kept);
  IW_mip_free(mip);
  ASSERT_EQ(IW_rl_release(reader), 0);
  EXPECT_EQ(IW_close_segment(reader), 0);
}

// The pointer's server is stopped: the acquire does not wait for it beyond its own deadline.
TEST_F(Blocks, APointerIntoASegmentOfAHungServerDoesNotHoldAReaderUp) {
  Server hung;
  ASSERT_TRUE(hung.good());
  const IW_handle_t first = open("/from");
  const IW_handle_t second = IW_open_segment(hung.url("/to").c_str());
  ASSERT_NE(second, nullptr) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(first), 0) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(second), 0) << IW_strerror();
  auto* const target = static_cast<Node*>(IW_malloc_named(second, &node_type, "target"));
  auto* const source = static_cast<Node*>(IW_malloc_named(first, &node_type, "source"));
  ASSERT_NE(target, nullptr);
  ASSERT_NE(source, nullptr);
  source->next = target;
  ASSERT_EQ(IW_wl_release(second), 0) << IW_strerror();
  ASSERT_EQ(IW_wl_release(first), 0) << IW_strerror();
  ASSERT_EQ(IW_close_segment(first), 0);
  ASSERT_EQ(IW_close_segment(second), 0);

  hung.suspend();
  const IW_handle_t reader = open("/from");
  const auto began = std::chrono::steady_clock::now();
  ASSERT_EQ(IW_rl_acquire_for(reader, 0.2, 0), 0) << IW_strerror();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(15))
      << "the segment's own timeout is twice that";
  ASSERT_EQ(IW_rl_release(reader), 0);
  EXPECT_EQ(IW_close_segment(reader), 0);
}

TEST_F(Blocks, APointerThatLeadsNowhereIsRefusedAndTheLockStays) {
  const IW_handle_t segment = open("/pointers");
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  auto* const node = static_cast<Node*>(IW_malloc(segment, &node_type));
  Node local{};
  node->next = &local;
  EXPECT_EQ(IW_wl_release(segment), IW_EBAD_POINTER) << IW_strerror();
  node->next = node;
  EXPECT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  EXPECT_EQ(IW_version(segment), 1u);
  EXPECT_EQ(IW_close_segment(segment), 0);
}

TEST_F(Blocks, Diff9APointerThatLeadsNowhereAndWasNotStoredToIsLeftOut) {
  const IW_handle_t segment = open("/spliced");
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  auto* const linked = static_cast<Linked*>(IW_malloc(segment, &linked_type));
  linked->node = static_cast<Node*>(IW_malloc(segment, &node_type));
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  ASSERT_EQ(IW_free(segment, linked->node), 0) << IW_strerror();
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  linked->value = 0.1;
  linked->after = 2;
  EXPECT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  EXPECT_EQ(IW_version(segment), 3u);
  EXPECT_EQ(IW_close_segment(segment), 0);
}

TEST_F(Blocks, FreedBlocksAreGoneForOthers) {
  const IW_handle_t segment = open("/freed");
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  void* const block = IW_malloc_array(segment, IW_int, 100, "gone");
  ASSERT_NE(block, nullptr);
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  Agent other;
  ASSERT_EQ(other.tell("open " + server_.url("/freed")), "ok");
  ASSERT_EQ(other.tell("rl"), "ok");
  EXPECT_EQ(other.tell("get gone 0"), "0");
  ASSERT_EQ(other.tell("rl_release"), "ok");
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  EXPECT_EQ(IW_free(segment, static_cast<char*>(block) + 4), IW_EBAD_POINTER);
  ASSERT_EQ(IW_free(segment, block), 0) << IW_strerror();
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  ASSERT_EQ(other.tell("rl"), "ok");
  EXPECT_EQ(other.tell("get gone 0").rfind("error -8", 0), 0u);
  EXPECT_EQ(IW_close_segment(segment), 0);
}

struct Report {
  int code = 0;
  std::string text;
};

void keep_report(int code, const char* text, void* arg) {
  auto* const report = static_cast<Report*>(arg);
  report->code = code;
  report->text = text;
}

TEST_F(Blocks, Copy1AStoreOutsideALockIsUndoneAndReported) {
  const IW_handle_t segment = open("/stray");
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  auto* const numbers = static_cast<int*>(IW_malloc_array(segment, IW_int, 5000, "numbers"));
  ASSERT_NE(numbers, nullptr);
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  Report report;
  IW_set_log(keep_report, &report);
  numbers[2000] = 5;
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  IW_set_log(nullptr, nullptr);
  EXPECT_EQ(report.code, IW_ESTRAY_WRITE);
  EXPECT_NE(report.text.find("numbers"), std::string::npos) << report.text;
  EXPECT_EQ(numbers[2000], 0);
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  EXPECT_EQ(IW_version(segment), 1u);
  IW_stats_t stats{};
  stats.size = sizeof stats;
  ASSERT_EQ(IW_stats(segment, &stats), 0);
  EXPECT_EQ(stats.stray_writes, 1u);
  EXPECT_EQ(IW_close_segment(segment), 0);
}

// An agent with this environment, whose stderr comes with its answers, stores without a lock.
void store_without_lock(const char* variable, const char* value, const std::string& url) {
  const EnvironmentVariable set(variable, value);
  Agent agent(Child::Errors::with_output);
  for (const std::string& command :
       {"open " + url, std::string("wl"), std::string("make numbers 10"), std::string("release")}) {
    ASSERT_EQ(agent.tell(command), "ok") << command;
  }
  const std::string line = agent.tell("put numbers 2 5");
  const bool says_store = line.rfind("interweave: store without a lock in block ", 0) == 0;
  const bool says_access = line.rfind("interweave: access without a lock in block ", 0) == 0;
  EXPECT_TRUE(says_store || (says_access && !platform::fault_access_is_known)) << line;
  const char* const place =
      platform::fault_address_is_exact ? ", byte 8," : ", in the page of byte ";
  EXPECT_NE(line.find(place), std::string::npos) << line;
}

TEST_F(Blocks, AStoreWithoutALockIsToldAtOnceUnderSigsegv) {
  store_without_lock("IW_TRACKER", "sigsegv", server_.url("/at-once"));
}

TEST_F(Blocks, AStoreWithoutALockIsToldAtOnceWithTheLocksLog) {
  store_without_lock("IW_LOG", "locks", server_.url("/at-once"));
}

}  // namespace
}  // namespace iw::test
