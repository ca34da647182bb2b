// Threads that open and close the same segments at the same time, each for itself [OPEN-1..3].
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "abi/tests/server_process.h"
#include "interweave.h"

namespace iw::test {
namespace {

constexpr int threads = 8;
constexpr int rounds = 400;

struct Work {
  std::string url;
  std::atomic<int> failures{0};
  std::atomic<int> added{0};

  bool is_good(int code) {
    if (code == 0) return true;
    if (failures++ == 0) ADD_FAILURE() << code << " " << IW_strerror();
    return false;
  }

  void read(IW_handle_t segment) {
    if (is_good(IW_rl_acquire(segment))) is_good(IW_rl_release(segment));
  }

  void add(IW_handle_t segment) {
    if (!is_good(IW_wl_acquire(segment))) return;
    auto* const number = static_cast<int*>(IW_mip_to_ptr((url + "#number").c_str()));
    if (!is_good(number == nullptr ? IW_errno() : 0)) return;
    ++*number;
    if (is_good(IW_wl_release(segment))) ++added;
  }

  // Opened, locked, unlocked, closed.
  void one_round(int round) {
    const IW_handle_t segment = IW_open_segment(url.c_str());
    if (!is_good(segment == nullptr ? IW_errno() : 0)) return;
    if (round % 4 == 0) {
      add(segment);
    } else {
      read(segment);
    }
    is_good(IW_close_segment(segment));
  }
};

void make_number(const std::string& url) {
  const IW_handle_t segment = IW_open_segment(url.c_str());
  ASSERT_NE(segment, nullptr) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  ASSERT_NE(IW_malloc_named(segment, IW_int, "number"), nullptr) << IW_strerror();
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  ASSERT_EQ(IW_close_segment(segment), 0) << IW_strerror();
}

int number_in(const std::string& url) {
  const IW_handle_t segment = IW_open_segment(url.c_str());
  EXPECT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
  const int value = *static_cast<int*>(IW_mip_to_ptr((url + "#number").c_str()));
  EXPECT_EQ(IW_rl_release(segment), 0);
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
  return value;
}

TEST(OpeningAndClosing, Open1EightThreadsThatEachOpenLockAndCloseTwoSegmentsDisturbNobody) {
  const Server server;
  ASSERT_TRUE(server.good());
  Work one{server.url("/one")};
  Work two{server.url("/two")};
  make_number(one.url);
  make_number(two.url);
  std::vector<std::thread> all;
  for (int thread = 0; thread < threads; ++thread) {
    all.emplace_back([&one, &two, thread] {
      for (int round = 0; round < rounds; ++round) {
        Work& work = (thread + round) % 2 == 0 ? one : two;
        work.one_round(thread + round / 2);
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(one.failures, 0);
  EXPECT_EQ(two.failures, 0);
  EXPECT_EQ(number_in(one.url), one.added);
  EXPECT_EQ(number_in(two.url), two.added);
  EXPECT_EQ(one.added + two.added, threads * rounds / 4);
}

// Connections are lost meanwhile; the store keeps everything.
TEST(OpeningAndClosing, Open1NobodyIsToldNotOpenWhileTheServerIsRestarted) {
  const TemporaryDirectory store;
  Server server({"--store", store.path()});
  ASSERT_TRUE(server.good());
  Work work{server.url("/one")};
  make_number(work.url);
  std::atomic<int> not_open{0};
  std::atomic<int> rounds_done{0};
  std::atomic<bool> is_over{false};
  std::vector<std::thread> all;
  for (int thread = 0; thread < 4; ++thread) {
    all.emplace_back([&] {
      while (!is_over) {
        const IW_handle_t segment = IW_open_segment(work.url.c_str());
        if (segment == nullptr) continue;  // the server is away
        const int code = IW_rl_acquire(segment);
        if (code == 0) IW_rl_release(segment);
        if (code == IW_ENOT_OPEN) ++not_open;
        if (IW_close_segment(segment) != 0) ++not_open;
        ++rounds_done;
      }
    });
  }
  for (int i = 0; i < 5; ++i) {
    const int enough = rounds_done + 100;
    while (rounds_done < enough) std::this_thread::yield();
    server.kill();
    server.start();
  }
  is_over = true;
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(not_open, 0);
}

TEST(OpeningAndClosing, Open3ACloseThatOthersKeepFromEndingSaysSoAndTheSegmentStaysOpen) {
  const Server server;
  ASSERT_TRUE(server.good());
  IW_open_options options{};
  options.size = sizeof options;
  options.flags = IW_CREATE;
  options.timeout = 0.05;
  const IW_handle_t segment = IW_open_segment_with(server.url("/held").c_str(), &options);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  std::atomic<int> step{0};
  std::thread reader([&] {
    EXPECT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
    step = 1;
    while (step < 2) std::this_thread::yield();
    EXPECT_EQ(IW_rl_release(segment), 0) << IW_strerror();
  });
  while (step < 1) std::this_thread::yield();
  EXPECT_EQ(IW_close_segment(segment), IW_ETIMED_OUT) << IW_strerror();
  step = 2;
  reader.join();
  EXPECT_EQ(IW_rl_acquire(segment), 0) << IW_strerror();
  EXPECT_EQ(IW_rl_release(segment), 0);
  EXPECT_EQ(IW_close_segment(segment), 0) << IW_strerror();
  EXPECT_EQ(IW_close_segment(segment), IW_ENOT_OPEN);
}

}  // namespace
}  // namespace iw::test
