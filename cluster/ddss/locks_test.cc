// Locks of several processes: exclusion, sharing and order. Holders and waiters that die, stop or
// give up.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>

#include "ddss/ddss_fixture.h"
#include "ddss/lock_words.h"
#include "testing/seed.h"

using namespace iw::ddss;

// Joins, and does nothing.
ROLE(node) {
  if (!join(parent)) return 1;
  parent.hear();
  return 0;
}

// Each of two threads adds 1 to an unprotected counter so many times, under the lock.
static int count_under_lock(const Line& parent, int sleeps_at_once) {
  if (!join(parent, patient_ms, sleeps_at_once)) return 1;
  const ddss_key_t key = key_of(parent.hear_text());
  const int times = parent.hear_value<int>();
  std::atomic<int> failures{0};
  const auto count = [&] {
    for (int i = 0; i < times; i++) {
      std::uint64_t value = 0;
      failures += ddss_acquire_lock(key) != 0;
      failures += ddss_get(key, &value, sizeof value) != 0;
      value++;
      failures += ddss_put(key, &value, sizeof value) != 0;
      failures += ddss_release_lock(key) != 0;
    }
  };
  std::thread other(count);
  count();
  other.join();
  parent.say_value(failures.load());
  parent.hear();  // the segment may lie here
  return 0;
}
ROLE(counter) { return count_under_lock(parent, 0); }
ROLE(sleeper) { return count_under_lock(parent, 1); }

// Obeys orders with the lock, and answers each: e(xclusive), s(hared), E and S to try, r(elease),
// g(et), p(ut).
ROLE(locker) {
  if (!join(parent)) return 1;
  const ddss_key_t key = key_of(parent.hear_text());
  for (;;) {
    const std::string order = parent.hear_text();
    std::uint64_t value = 1;
    int result = 0;
    if (order == "e") result = ddss_acquire_lock(key);
    if (order == "s") result = ddss_acquire_shared_lock(key);
    if (order == "E") result = ddss_try_lock(key);
    if (order == "S") result = ddss_try_shared_lock(key);
    if (order == "r") result = ddss_release_lock(key);
    if (order == "g") result = ddss_get(key, &value, sizeof value);
    if (order == "p") result = ddss_put(key, &value, sizeof value);
    if (order == "end") return 0;
    parent.say_value(result);
  }
}

class Locks : public Space {
 protected:
  static Queue queue_of(ddss_key_t key) {
    std::uint64_t word = 0;
    EXPECT_EQ(ddss_lock_word(key, &word), 0);
    return unpack_queue(word);
  }
  void count_together(ddss_key_t key);
};
OVER_ALL_TRANSPORTS(Locks);

// If nodes knew of different deaths, each would make the lock anew again after the other.
TEST_P(Locks, AreMadeAnewAlsoByNodesThatCameAfterADeath) {
  constexpr std::uint16_t tickets_a_recovery = 0x4000;
  const ddss_key_t key = allocate_on(0, 8, DDSS_NULL);
  Child& early = add_locker(key);
  early.line().say(std::string("end"));
  EXPECT_EQ(early.wait_for_end(), 0);
  while (ddss_nodes() > 1) std::this_thread::yield();
  const Child& late = add_locker(key);
  ASSERT_EQ(ddss_acquire_lock(key), 0);
  late.line().say(std::string("e"));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(patient_ms);
  while (queue_of(key).ticket < tickets_a_recovery && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_GE(queue_of(key).ticket, tickets_a_recovery) << "it has waited, and found no death";
  EXPECT_EQ(ddss_release_lock(key), 0);
  EXPECT_EQ(result(late), 0);
}

void Locks::count_together(ddss_key_t key) {
  const int times = is_shared_memory() ? 300 : 40;
  for (const Child& each : children_) {
    each.line().say(text_of(key));
    each.line().say_value(times);
  }
  for (const Child& each : children_) EXPECT_EQ(result(each), 0);
  std::uint64_t value = 0;
  ASSERT_EQ(ddss_get(key, &value, sizeof value), 0);
  EXPECT_EQ(value, children_.size() * 2 * static_cast<unsigned>(times));
}

// [DDSS-LOCK-1] [DDSS-LOCK-3]
TEST_P(Locks, ExcludeThreadsAndProcesses) {
  for (int i = 0; i < 3; i++) add("counter");
  count_together(allocate_on(1, 8, DDSS_NULL));
}

TEST_P(Locks, ExcludeThoseWhoseWaitsDoNotPoll) {
  for (int i = 0; i < 3; i++) add("sleeper");
  count_together(allocate_on(1, 8, DDSS_NULL));
}

TEST_P(Locks, HeldByTheThreadTakeThePlaceOfImplicitOnes) {
  for (int i = 0; i < 3; i++) add("counter");
  count_together(allocate_on(0, 8, DDSS_STRICT));
}

// [DDSS-LOCK-4]
TEST_P(Locks, AreTriedWithoutWaiting) {
  const ddss_key_t key = allocate_on(0, 8, DDSS_NULL);
  const Child& other = add_locker(key);
  ASSERT_EQ(tell(other, "e"), 0);
  EXPECT_EQ(ddss_try_lock(key), DDSS_EBUSY);
  EXPECT_EQ(ddss_try_shared_lock(key), DDSS_EBUSY);
  ASSERT_EQ(tell(other, "r"), 0);
  EXPECT_EQ(ddss_try_shared_lock(key), 0);
  EXPECT_EQ(tell(other, "S"), 0) << "sharers do not exclude each other";
  EXPECT_EQ(tell(other, "r"), 0);
  EXPECT_EQ(tell(other, "E"), DDSS_EBUSY);
  EXPECT_EQ(ddss_release_lock(key), 0);
  EXPECT_EQ(tell(other, "E"), 0);
  EXPECT_EQ(tell(other, "r"), 0);
}

TEST_P(Locks, AreTheThreadsThatTookThem) {
  const ddss_key_t key = allocate_on(0, 8, DDSS_NULL);
  EXPECT_EQ(ddss_release_lock(key), DDSS_ENOTHELD);
  ASSERT_EQ(ddss_acquire_lock(key), 0);
  EXPECT_EQ(ddss_acquire_lock(key), DDSS_EHELD);
  std::thread([&] {
    EXPECT_EQ(ddss_release_lock(key), DDSS_ENOTHELD);
    EXPECT_EQ(ddss_try_lock(key), DDSS_EBUSY);
  }).join();
  EXPECT_EQ(ddss_release_lock(key), 0);
}

// [DDSS-LOCK-2]
TEST_P(Locks, WaitersComeInOrderAndSharersTogether) {
  const ddss_key_t key = allocate_on(0, 8, DDSS_NULL);
  std::vector<Child*> all;
  for (int i = 0; i < 4; i++) all.push_back(&add_locker(key));
  const auto told = [&](std::size_t who, const char* order) {
    all[who]->line().say(std::string(order));
  };
  ASSERT_EQ(ddss_acquire_lock(key), 0);
  // Each is in the queue before the next asks, so its place in the queue is known.
  const auto in_queue = [&](std::uint16_t asked, std::uint32_t sharers) {
    for (;;) {
      const Queue queue = queue_of(key);
      if (queue.ticket == asked && queue.sharers == sharers) return;
      std::this_thread::yield();
    }
  };
  told(0, "s");
  in_queue(1, 1);
  told(1, "s");
  in_queue(1, 2);
  told(2, "e");
  in_queue(2, 0);
  told(3, "s");
  in_queue(2, 1);
  ASSERT_EQ(ddss_release_lock(key), 0);
  EXPECT_EQ(result(*all[0]), 0);
  EXPECT_EQ(result(*all[1]), 0);
  EXPECT_EQ(tell(*all[0], "r"), 0);
  EXPECT_EQ(ddss_try_shared_lock(key), DDSS_EBUSY) << "who waits for all comes before";
  EXPECT_EQ(tell(*all[1], "r"), 0);
  EXPECT_EQ(result(*all[2]), 0);
  EXPECT_EQ(tell(*all[2], "r"), 0);
  EXPECT_EQ(result(*all[3]), 0);
  EXPECT_EQ(tell(*all[3], "r"), 0);
  EXPECT_EQ(ddss_try_lock(key), 0);
}

// The word's ticket has 16 bits. Threads that wait while it wraps get the lock in order, too.
TEST_P(Locks, AreTakenMoreOftenThanTheirWordCounts) {
  constexpr int before = 0xfffe, after = 70'000;
  const ddss_key_t key = allocate_on(0, 8, DDSS_NULL);
  const Child& second = add_locker(key);
  const Child& third = add_locker(key);
  const auto was_last_asked_by = [&](int node, int times) {
    const Queue queue = queue_of(key);
    return queue.tail == node + 1 && queue.ticket == static_cast<std::uint16_t>(times);
  };
  const auto take_until = [&](int times, int until) {
    for (; times < until; times++) {
      ASSERT_EQ(ddss_acquire_lock(key), 0);
      ASSERT_EQ(ddss_release_lock(key), 0);
    }
  };
  take_until(0, before);
  EXPECT_TRUE(was_last_asked_by(0, before));
  ASSERT_EQ(ddss_acquire_lock(key), 0);
  second.line().say(std::string("e"));
  while (!was_last_asked_by(1, before + 2)) std::this_thread::yield();
  third.line().say(std::string("e"));
  while (!was_last_asked_by(2, before + 3)) std::this_thread::yield();
  ASSERT_EQ(ddss_release_lock(key), 0);
  EXPECT_EQ(result(second), 0);
  EXPECT_EQ(ddss_try_lock(key), DDSS_EBUSY);
  EXPECT_EQ(tell(second, "r"), 0);
  EXPECT_EQ(result(third), 0);
  EXPECT_EQ(ddss_try_lock(key), DDSS_EBUSY);
  EXPECT_EQ(tell(third, "r"), 0);
  take_until(before + 3, after);
  EXPECT_TRUE(was_last_asked_by(0, after));
  EXPECT_EQ(tell(second, "e"), 0);
  EXPECT_TRUE(was_last_asked_by(1, after + 1));
  EXPECT_EQ(ddss_try_lock(key), DDSS_EBUSY);
}

// [DDSS-LOCK-5]
TEST_P(Locks, OfADeadHolderAreRecovered) {
  const ddss_key_t key = allocate_on(0, 8, DDSS_STRICT);
  for (const char* order : {"e", "s"}) {
    Child& holder = add_locker(key);
    ASSERT_EQ(tell(holder, order), 0);
    holder.kill();
    EXPECT_EQ(ddss_acquire_lock(key), 0) << order;
    std::uint64_t value = 3;
    EXPECT_EQ(ddss_put(key, &value, 8), 0);
    EXPECT_EQ(ddss_release_lock(key), 0);
  }
}

TEST_P(Locks, OfADeadWaiterGoOn) {
  const ddss_key_t key = allocate_on(0, 8, DDSS_NULL);
  Child& waiter = add_locker(key);
  ASSERT_EQ(ddss_acquire_lock(key), 0);
  waiter.line().say(std::string("e"));
  while (queue_of(key).ticket != 2) std::this_thread::yield();
  waiter.kill();
  ASSERT_EQ(ddss_release_lock(key), 0);
  EXPECT_EQ(ddss_acquire_lock(key), 0);
  EXPECT_EQ(ddss_release_lock(key), 0);
}

// [DDSS-LOCK-7]
TEST_P(Locks, StayWithTheirHolderWhenAnotherDies) {
  const ddss_key_t key = allocate_on(0, 8, DDSS_NULL);
  const Child& holder = add_locker(key);
  Child& dead = add_locker(key);
  for (const char* order : {"e", "s"}) {
    ASSERT_EQ(tell(holder, order), 0);
    if (*order == 's') {
      Child& another = add_locker(key);
      ASSERT_EQ(tell(another, "s"), 0);
      another.kill();
    } else {
      dead.kill();
    }
    while (ddss_nodes() > 2) std::this_thread::yield();
    // Begins the lock's recovery. The lock stays taken.
    EXPECT_EQ(ddss_try_lock(key), DDSS_EBUSY);
    EXPECT_EQ(tell(holder, "r"), 0);
    EXPECT_EQ(ddss_acquire_lock(key), 0);
    EXPECT_EQ(ddss_release_lock(key), 0);
  }
}

// The recovery must wait for a stopped node. A thread that tries the lock must not.
// [DDSS-LOCK-4]
TEST_P(Locks, OfADeadHolderAreTriedWithoutWaitingForTheirRecovery) {
  const ddss_key_t key = allocate_on(0, 8, DDSS_NULL);
  Child& holder = add_locker(key);
  Child& stopped = add_locker(key);
  ASSERT_EQ(tell(holder, "e"), 0);
  stopped.stop();
  holder.kill();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(patient_ms);
  bool is_being_recovered = false;
  while (!is_being_recovered && std::chrono::steady_clock::now() < deadline) {
    ASSERT_EQ(ddss_try_lock(key), DDSS_EBUSY);
    is_being_recovered = queue_of(key).tail == frozen;
  }
  EXPECT_TRUE(is_being_recovered) << "a try has waited for the node";
  EXPECT_EQ(ddss_try_lock(key), DDSS_EBUSY);
  EXPECT_EQ(ddss_try_shared_lock(key), DDSS_EBUSY);
  EXPECT_EQ(queue_of(key).tail, frozen) << "a try was not held up until the node continued";
  stopped.go_on();
  int result = DDSS_EBUSY;
  while (result == DDSS_EBUSY) result = ddss_try_lock(key);
  EXPECT_EQ(result, 0);
  EXPECT_EQ(ddss_release_lock(key), 0);
}

TEST_P(Locks, OfAStoppedHolderAreWaitedForUntilTheTimeIsOver) {
  ddss_finish();
  ddss_options_t options{};
  options.timeout_ms = impatient_ms;
  options.pool_bytes = small_pool;
  ASSERT_EQ(ddss_init(&options), 0);
  ddss_key_t key = 0;
  const auto allocate_here = [&] {
    key = ddss_allocate(8, DDSS_NULL, nullptr);
    return key == 0 ? ddss_errno() : 0;
  };
  ASSERT_EQ(answered(allocate_here), 0);
  Child& holder = add_locker(key);
  const Child& patient = add_locker(key);
  ASSERT_EQ(tell(holder, "e"), 0);
  holder.stop();
  EXPECT_EQ(ddss_acquire_lock(key), DDSS_ETIMEDOUT);
  holder.go_on();
  EXPECT_EQ(tell(patient, "E"), DDSS_EBUSY);
  EXPECT_EQ(tell(holder, "r"), 0);
  EXPECT_EQ(tell(patient, "e"), 0) << "a waiter that gave up holds nobody up";
  EXPECT_EQ(tell(patient, "r"), 0);
}

// Each worker notes that it is inside the lock, in memory outside of DDSS. The note of a worker
// that is to be killed does not count.
struct Witness {
  enum Hold : int { none, shared, exclusive };
  static constexpr std::size_t size = 4096;
  struct Place {
    std::atomic<int> hold, is_to_die;
  };
  std::array<Place, 16> places;

  static Witness* map(int fd) {
    void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<Witness*>(memory);
  }
  // False: another worker is inside that must not be.
  bool enter(std::size_t own, Hold hold) {
    places[own].hold = hold;
    for (std::size_t i = 0; i < places.size(); i++) {
      const int there = places[i].hold;
      const bool is_excluded = there == exclusive || (there == shared && hold == exclusive);
      if (i != own && is_excluded && places[i].is_to_die == 0) return false;
    }
    return true;
  }
  void leave(std::size_t own) { places[own].hold = none; }
};

// Takes the lock so many times, or until it is killed. Counts under the exclusive lock, and looks
// under the shared one. The counter is two words that must be equal.
ROLE(worker) {
  if (!join(parent)) return 1;
  const int file = open(parent.hear_text().c_str(), O_RDWR | O_CLOEXEC);
  const auto own = parent.hear_value<std::size_t>();
  Witness* const witness = Witness::map(file);
  if (witness == nullptr) return 11;
  const ddss_key_t key = key_of(parent.hear_text());
  const int times = parent.hear_value<int>();
  std::mt19937 random(parent.hear_value<unsigned>());
  // Connects with all before any is killed, because of [UCX-3] (cluster/fabric/ucx_1_13.md).
  if (ddss_await_nodes(parent.hear_value<int>()) != 0) return 10;
  for (int node = 0; node < ddss_nodes(); node++) allocate_on(node, 8, DDSS_NULL);
  parent.say("connected");
  parent.hear();
  for (int i = 0; i < times; i++) {
    std::uint64_t words[2];
    if (random() % 3 == 0) {
      if (ddss_acquire_lock(key) != 0) return 2;
      if (!witness->enter(own, Witness::exclusive)) return 12;
      if (ddss_get(key, words, sizeof words) != 0) return 3;
      words[0]++;
      if (ddss_put(key, words, 8) != 0) return 4;
      words[1] = words[0];
      if (ddss_put(key, words, sizeof words) != 0) return 5;
    } else {
      if (ddss_acquire_shared_lock(key) != 0) return 6;
      if (!witness->enter(own, Witness::shared)) return 13;
      if (ddss_get(key, words, sizeof words) != 0) return 7;
      // A worker that was killed between its puts leaves the first word one ahead.
      if (words[0] - words[1] > 1) return 8;
    }
    witness->leave(own);
    if (ddss_release_lock(key) != 0) return 9;
  }
  parent.say("done");
  parent.hear();
  return 0;
}

// [DDSS-LOCK-5] [DDSS-LOCK-6] [DDSS-LOCK-7]
TEST_P(Locks, SurviveWorkersThatAreKilledAndStoppedAtRandom) {
  std::mt19937 random = iw::testing::seeded_random();
  const ddss_key_t key = allocate_on(0, 16, DDSS_NULL);
  constexpr int workers = 5;
  const int file = memfd_create("witness", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, Witness::size), 0);
  Witness* const witness = Witness::map(file);
  ASSERT_NE(witness, nullptr);
  const std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file);
  for (int i = 0; i < workers; i++) {
    Child& child = add("worker");
    child.line().say(path);
    child.line().say_value<std::size_t>(static_cast<std::size_t>(i));
    child.line().say(text_of(key));
    child.line().say_value(i < 2 ? 1 << 30 : is_shared_memory() ? 2000 : 100);
    child.line().say_value<unsigned>(random());
  }
  for (const Child& each : children_) each.line().say_value(workers + 1);
  for (const Child& each : children_) EXPECT_EQ(each.line().hear_text(), "connected");
  for (const Child& each : children_) each.line().say("go");
  // The first two are killed, the others stopped and continued.
  for (int i = 0; i < 20; i++) {
    Child& child = children_[2 + random() % (workers - 2)];
    child.stop();
    std::uint64_t words[2];
    EXPECT_EQ(ddss_get(key, words, sizeof words), 0);
    child.go_on();
    for (const auto& [turn, victim] : {std::pair(7, 0u), std::pair(13, 1u)}) {
      if (i != turn) continue;
      witness->places[victim].is_to_die = 1;
      children_[victim].kill();
    }
  }
  for (int i = 2; i < workers; i++) {
    EXPECT_EQ(children_[static_cast<std::size_t>(i)].line().hear_text(), "done");
  }
  EXPECT_EQ(ddss_acquire_lock(key), 0);
  EXPECT_EQ(ddss_release_lock(key), 0);
  munmap(witness, Witness::size);
  close(file);
}
