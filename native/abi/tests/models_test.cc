// The coherence models from a client's view: what a reader may see, how old, and what it costs in
// messages; models changed between locks; adaptive polling beside fixed schemes.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "abi/tests/server_process.h"
#include "abi/tests/statistics.h"
#include "interweave.h"

namespace iw::test {
namespace {

using Clock = std::chrono::steady_clock;

class Models : public ::testing::Test {
 protected:
  static constexpr int ints = 1000;

  void SetUp() override {
    ASSERT_TRUE(server_.good());
    url_ = server_.url("/models");
    ASSERT_EQ(writer_.tell("open " + url_), "ok");
    ASSERT_EQ(writer_.tell("wl"), "ok");
    ASSERT_EQ(writer_.tell("make numbers " + std::to_string(ints)), "ok");
    ASSERT_EQ(writer_.tell("make others 5000"), "ok");
    ASSERT_EQ(writer_.tell("release"), "ok");
    segment_ = IW_open_segment(url_.c_str());
    ASSERT_NE(segment_, nullptr) << IW_strerror();
    numbers_ = static_cast<int*>(IW_mip_to_ptr((url_ + "#numbers").c_str()));
    others_ = static_cast<int*>(IW_mip_to_ptr((url_ + "#others").c_str()));
    ASSERT_NE(numbers_, nullptr) << IW_strerror();
    ASSERT_NE(others_, nullptr) << IW_strerror();
    beside_ = IW_open_segment(server_.url("/beside").c_str());
    ASSERT_NE(beside_, nullptr) << IW_strerror();
  }
  void TearDown() override {
    if (beside_ != nullptr) {
      EXPECT_EQ(IW_close_segment(beside_), 0);
    }
    if (segment_ == nullptr) return;
    EXPECT_EQ(IW_close_segment(segment_), 0) << IW_strerror();
  }

  void write(int count, int index = 0) {
    ASSERT_EQ(writer_.tell("add numbers " + std::to_string(index) + " " + std::to_string(count)),
              "ok");
  }
  int read(int index = 0) {
    EXPECT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror();
    const int value = numbers_[index];
    EXPECT_EQ(IW_rl_release(segment_), 0);
    return value;
  }
  // Whatever the server has sent is here: its answer about another segment comes behind it, on the
  // same connection.
  void hear() {
    ASSERT_EQ(IW_rl_acquire_for(beside_, 30, IW_FRESH), 0) << IW_strerror();
    ASSERT_EQ(IW_rl_release(beside_), 0);
  }
  void set(IW_coherence_t model, double x) {
    ASSERT_EQ(IW_set_coherence(segment_, model, x), 0) << IW_strerror();
  }
  IW_stats_t stats() { return stats_of(segment_); }

  Server server_;
  Agent writer_;
  std::string url_;
  IW_handle_t segment_ = nullptr;
  IW_handle_t beside_ = nullptr;
  const int* numbers_ = nullptr;
  const int* others_ = nullptr;
};

TEST_F(Models, Coh1TheFirstLockFetchesALaterOneOnlyAsksAndOneThatIsContentDoesNeither) {
  const IW_stats_t opened = stats();
  read();
  const IW_stats_t first = stats();
  EXPECT_EQ(first.messages_sent, opened.messages_sent + 1);
  EXPECT_EQ(first.messages_received, opened.messages_received + 1);
  EXPECT_EQ(first.full_copies, 1u);
  read();
  const IW_stats_t second = stats();
  EXPECT_EQ(second.messages_sent, first.messages_sent + 1);
  EXPECT_EQ(second.messages_received, first.messages_received + 1);
  EXPECT_EQ(second.diffs_received, first.diffs_received) << "it was up to date";
  set(IW_TEMPORAL, 3600);
  read();
  EXPECT_EQ(stats().messages_sent, second.messages_sent);
  EXPECT_EQ(stats().local_reader_locks, second.local_reader_locks + 1);
}

TEST_F(Models, Coh4ADeltaReaderIsNeverMoreThanXBehindAndSkipsAllOtherUpdates) {
  int written = 0;
  for (const int x : {0, 1, 2, 9}) {
    set(IW_FULL, 0);
    hear();
    int seen = read();
    set(IW_DELTA, x);
    const std::uint64_t before = stats().diffs_received;
    constexpr int versions = 30;
    for (int i = 1; i <= versions; ++i) {
      write(1);
      ++written;
      hear();
      const int now = read();
      ASSERT_GE(now, written - x);
      ASSERT_TRUE(now == seen || now == written) << "an update goes to the newest";
      seen = now;
    }
    EXPECT_EQ(stats().diffs_received - before, static_cast<std::uint64_t>(versions / (x + 1)))
        << "x is " << x;
  }
}

TEST_F(Models, Coh5ATemporalReaderIsNeverOlderThanXAndAsksOnceAnX) {
  constexpr double x_s = 0.05;
  set(IW_TEMPORAL, x_s);
  read();
  std::vector<Clock::time_point> written_at;  // [v]: when version v + 1 was there
  const IW_stats_t before = stats();
  const auto began = Clock::now();
  const auto age = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(x_s));
  while (Clock::now() - began < std::chrono::seconds(1)) {
    write(1);
    written_at.push_back(Clock::now());
    for (int i = 0; i < 20; ++i) {
      const int seen = read();
      const auto bound = Clock::now() - age;
      const auto next = static_cast<std::size_t>(seen);
      // Versions that the reader has not seen are younger than x; the lock was held a moment ago.
      ASSERT_TRUE(next >= written_at.size() || written_at[next] > bound - age / 2)
          << "version " << seen << " of " << written_at.size();
    }
  }
  const std::chrono::duration<double> took = Clock::now() - began;
  const IW_stats_t after = stats();
  const std::uint64_t asked = after.messages_sent - before.messages_sent;
  EXPECT_LE(static_cast<double>(asked), took.count() / x_s + 2);
  EXPECT_GE(asked, 2u);
  EXPECT_GE(after.reader_locks - before.reader_locks, 20 * asked / 4);
}

TEST_F(Models, Coh6ADiffReaderIsContentUntilXPerCentOfTheUnitsChanged) {
  // 6,000 units in all: 1 per cent are 60.
  set(IW_DIFF, 1);
  EXPECT_EQ(read(), 0);
  for (int i = 0; i < 40; ++i) write(1, i);
  EXPECT_EQ(read(), 0);
  for (int i = 40; i < 60; ++i) write(1, i);
  EXPECT_EQ(read(), 0) << "as much as is allowed";
  write(1, 999);
  EXPECT_EQ(read(), 1) << "more than is allowed";
  EXPECT_EQ(read(999), 1);
  // Repeated writes of one unit are counted each: too many rather than too few.
  write(60, 0);
  EXPECT_EQ(read(), 1);
  write(1, 0);
  EXPECT_EQ(read(), 62);
}

// Here as at the server, so that no lock fails later because of it [COH-4] [COH-5] [COH-6].
TEST_F(Models, Coh10ABoundThatMeansNothingIsRefusedAtOnce) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const IW_coherence_t model : {IW_DELTA, IW_TEMPORAL, IW_DIFF}) {
    EXPECT_EQ(IW_set_coherence(segment_, model, -1), IW_EBAD_ARGUMENT);
    EXPECT_EQ(IW_set_coherence(segment_, model, nan), IW_EBAD_ARGUMENT);
  }
  EXPECT_EQ(IW_set_coherence(segment_, IW_DIFF, 101), IW_EBAD_ARGUMENT);
  EXPECT_EQ(IW_set_coherence(segment_, static_cast<IW_coherence_t>(7), 0), IW_EBAD_ARGUMENT);
  for (const IW_coherence_t model : {IW_DELTA, IW_TEMPORAL}) {
    set(model, 1e300);
    read();
  }
  set(IW_DIFF, 100);
  read();
}

TEST_F(Models, Coh10TheModelAndXChangeBetweenLocks) {
  EXPECT_EQ(read(), 0);
  set(IW_DELTA, 2);
  write(2);
  EXPECT_EQ(read(), 0);
  set(IW_DELTA, 1);
  EXPECT_EQ(read(), 2);
  set(IW_NULL, 0);
  write(5);
  EXPECT_EQ(read(), 2);
  set(IW_DIFF, 50);
  EXPECT_EQ(read(), 2);
  set(IW_DIFF, 0.01);
  EXPECT_EQ(read(), 7);
  set(IW_TEMPORAL, 3600);
  write(1);
  EXPECT_EQ(read(), 7);
  set(IW_STRICT, 0);
  EXPECT_EQ(read(), 8);
  set(IW_NULL, 0);
  write(1);
  EXPECT_EQ(read(), 8);
  set(IW_FULL, 0);
  EXPECT_EQ(read(), 9);
}

// A subscription goes with the bound: one for Full would bring each version to a reader that is
// content with less.
TEST_F(Models, Coh10ASubscriptionFollowsTheModel) {
  for (int i = 0; i < 10; ++i) read();
  hear();
  const IW_stats_t full = stats();
  write(2);
  hear();
  EXPECT_EQ(stats().notifications, full.notifications + 2);
  set(IW_DELTA, 1000);
  for (int i = 0; i < 10; ++i) read();
  hear();
  const IW_stats_t content = stats();
  for (int i = 0; i < 50; ++i) {
    write(1);
    hear();
    read();
  }
  EXPECT_EQ(stats().notifications, content.notifications);
  set(IW_FULL, 0);
  EXPECT_EQ(read(), 52);
  // Back and forth without a moment between: what was promised last is what counts.
  for (int i = 1; i <= 20; ++i) {
    for (int j = 0; j < 5; ++j) read();
    set(IW_DELTA, 1000);
    set(IW_FULL, 0);
    write(1);
    hear();
    ASSERT_EQ(read(), 52 + i);
  }
  // Null cannot be watched: nothing comes any more once the library's thread has said so. It may
  // first have to wait for the answer to an earlier change: so one quiet write does not prove it.
  for (int i = 0; i < 5; ++i) read();
  hear();
  set(IW_NULL, 0);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (int quiet = 0; quiet < 50;) {
    ASSERT_LT(std::chrono::steady_clock::now(), until) << "it is still being notified";
    const std::uint64_t before = stats().notifications;
    write(1);
    hear();
    read();
    quiet = stats().notifications == before ? quiet + 1 : 0;
  }
}

// [COH-8] Two blocks always agree, whatever the model and however old the copy.
TEST_F(Models, Coh8NoModelShowsPartOfARelease) {
  writer_.begin("add_both numbers others 600");
  const struct {
    IW_coherence_t model;
    double x;
  } models[] = {{IW_FULL, 0}, {IW_STRICT, 0},      {IW_DELTA, 3},
                {IW_NULL, 0}, {IW_TEMPORAL, .001}, {IW_DIFF, .1}};
  int seen = 0;
  for (int round = 0; round < 100; ++round) {
    for (const auto& one : models) {
      set(one.model, one.x);
      ASSERT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror();
      ASSERT_EQ(numbers_[0], others_[0]);
      ASSERT_GE(numbers_[0], seen) << "a copy never goes back";
      seen = numbers_[0];
      ASSERT_EQ(IW_rl_release(segment_), 0);
    }
  }
  EXPECT_EQ(writer_.answer(), "ok");
  set(IW_FULL, 0);
  ASSERT_EQ(IW_rl_acquire_for(segment_, 30, IW_FRESH), 0);
  EXPECT_EQ(numbers_[0], 600);
  ASSERT_EQ(IW_rl_release(segment_), 0);
}

TEST_F(Models, Coh2StrictReadersOfThreeProcessesReadTogetherAndTheWriterAlone) {
  set(IW_STRICT, 0);
  Agent readers[2];
  for (Agent& reader : readers) {
    ASSERT_EQ(reader.tell("open " + url_), "ok");
    ASSERT_EQ(reader.tell("strict"), "ok");
    ASSERT_EQ(reader.tell("rl"), "ok");
  }
  ASSERT_EQ(IW_rl_acquire_for(segment_, 10, 0), 0) << IW_strerror();
  EXPECT_EQ(writer_.tell("wl_for 0").rfind("error -14", 0), 0u);
  for (Agent& reader : readers) ASSERT_EQ(reader.tell("rl_release"), "ok");
  EXPECT_EQ(writer_.tell("wl_for 0.05").rfind("error -14", 0), 0u) << "one still reads";
  ASSERT_EQ(IW_rl_release(segment_), 0);
  EXPECT_EQ(writer_.tell("wl_for 20"), "ok");
  EXPECT_EQ(IW_rl_acquire_for(segment_, 0, 0), IW_ETIMED_OUT);
  EXPECT_EQ(writer_.tell("release"), "ok");
}

// The model of a waiting reader is changed by another thread: the lock that the server keeps is
// given back all the same.
TEST_F(Models, Coh10AStrictLockIsGivenBackWhateverTheModelIsByThen) {
  set(IW_STRICT, 0);
  ASSERT_EQ(writer_.tell("wl"), "ok");
  const std::uint64_t sent_before = stats().messages_sent;
  std::thread reader([this] {
    EXPECT_EQ(IW_rl_acquire(segment_), 0) << IW_strerror();
    EXPECT_EQ(IW_rl_release(segment_), 0);
  });
  while (stats().messages_sent == sent_before) std::this_thread::yield();  // until it has asked
  set(IW_FULL, 0);
  ASSERT_EQ(writer_.tell("release"), "ok");
  reader.join();
  EXPECT_EQ(writer_.tell("wl_for 10"), "ok");
  EXPECT_EQ(writer_.tell("release"), "ok");
}

int content_while_told(const IW_copy_state* copy, void*) {
  return copy->subscribed != 0 && copy->version == copy->newest_known ? 1 : 0;
}

// A subscription for less than every version is not taken for one, nor kept.
TEST_F(Models, Coh10AModelOfTheUsersOwnIsToldOfEveryVersion) {
  set(IW_DELTA, 1000);
  for (int i = 0; i < 10; ++i) read();
  hear();
  write(3);
  hear();
  EXPECT_EQ(read(), 0);
  ASSERT_EQ(IW_set_coherence_fn(segment_, content_while_told, nullptr), 0);
  EXPECT_EQ(read(), 3);
}

// ---- adaptive, beside always asking and always being told ----

struct Phase {
  const char* name;
  int rounds;
  int writes;
  int reads;
};
constexpr Phase phases[] = {
    {"read-mostly", 10, 1, 50}, {"write-mostly", 5, 50, 1}, {"alternating", 60, 1, 1}};

void nothing(IW_handle_t, std::uint64_t, void*) {}

class Polling : public Models {
 protected:
  // Writes, and after the third notification lets the library's thread say that it wants no more:
  // how soon it runs is not what is measured.
  void write_unread(int writes, bool is_adaptive) {
    const IW_stats_t before = stats();
    for (int i = 0; i < writes; ++i) {
      write(1);
      hear();
      const bool is_useless = stats().notifications >= before.notifications + 3;
      const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (is_adaptive && is_useless && stats().messages_sent == before.messages_sent) {
        ASSERT_LT(std::chrono::steady_clock::now(), until) << "it is still being notified";
        std::this_thread::yield();
      }
    }
  }

  // Messages that the reader sent and received, by phase.
  std::vector<std::uint64_t> run(bool is_adaptive) {
    std::vector<std::uint64_t> messages;
    read();
    for (const Phase& phase : phases) {
      const IW_stats_t before = stats();
      for (int round = 0; round < phase.rounds; ++round) {
        write_unread(phase.writes, is_adaptive);
        for (int i = 0; i < phase.reads; ++i) read();
      }
      const IW_stats_t after = stats();
      messages.push_back(after.messages_sent - before.messages_sent + after.messages_received -
                         before.messages_received);
    }
    return messages;
  }
};

// A question and its answer for each read; a notification for each version.
TEST_F(Polling, Poll1AdaptiveCostsLittleMoreThanTheBetterOfTwoFixedSchemesInEachPhase) {
  const std::vector<std::uint64_t> adaptive = run(true);
  ASSERT_EQ(IW_on_change(segment_, nothing, nullptr), 0) << IW_strerror();  // always subscribed
  const std::vector<std::uint64_t> told = run(false);
  ASSERT_EQ(IW_on_change(segment_, nullptr, nullptr), 0);
  std::uint64_t sum[3] = {};
  for (std::size_t i = 0; i < std::size(phases); ++i) {
    const Phase& phase = phases[i];
    const auto asking = static_cast<std::uint64_t>(2 * phase.rounds * phase.reads);
    std::printf("[ messages ] %-12s adaptive %4llu, always asking %4llu, always told %4llu\n",
                phase.name, static_cast<unsigned long long>(adaptive[i]),
                static_cast<unsigned long long>(asking), static_cast<unsigned long long>(told[i]));
    // To notice that the phase has changed takes three answers or three notifications, and those
    // that come until the library's thread runs and the server is told.
    const std::uint64_t until_noticed = std::max<std::uint64_t>(40, told[i] / 2);
    EXPECT_LE(adaptive[i], 2 * std::min(asking, told[i]) + until_noticed) << phase.name;
    sum[0] += adaptive[i];
    sum[1] += asking;
    sum[2] += told[i];
  }
  EXPECT_LT(sum[0], sum[1] / 2) << "less than always asking";
  EXPECT_LT(sum[0], sum[2]) << "and than always being told";
}

}  // namespace
}  // namespace iw::test
