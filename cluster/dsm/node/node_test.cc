// Nodes of real processes: what calls refuse, how diffs and notices travel, and what costs a
// message.
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "dsm/node/node_fixture.h"
#include "testing/seed.h"

namespace iw::dsm {
namespace {

using fabric::Status;

std::uint64_t messages_of(Member& at) {
  const Stats stats = at.node->stats();
  std::uint64_t sum = 0;
  for (const std::uint64_t each : stats.mail.messages) sum += each;
  return sum;
}

std::uint64_t sent(const Stats& stats, Message kind) {
  return stats.mail.messages[static_cast<std::size_t>(kind)];
}

void expect_status(const Result& result, Status wanted, const char* claim) {
  check(result.status == wanted, claim, static_cast<std::uint64_t>(result.status));
}

}  // namespace

ROLE(misuse) {
  Member at;
  Node& node = *at.node;
  expect_status(node.lock(1), Status::bad_argument, "no lock before the beginning");
  at.begin();
  expect_status(node.begin(1, 1, {}), Status::bad_argument, "a job begins once");
  at.lock(1);
  expect_status(node.lock(1), Status::bad_argument, "a thread locks once");
  check(node.has_lock(1), "the lock is held still");
  std::thread([&] {
    expect_status(node.unlock(1), Status::bad_argument, "another thread's lock is not released");
    bool got = true;
    expect_status(node.try_lock(1, &got), Status::ok, "a try returns");
    check(!got, "a lock of another thread is not had by a try");
  }).join();
  at.unlock(1);
  expect_status(node.unlock(1), Status::bad_argument, "a released lock is not released again");
  {
    const fabric::Exclusion exclusion(node.worker());
    expect_status(node.lock(2), Status::in_handler, "no wait under the exclusion");
  }
  expect_status(node.touch(PageNumber{1} << 40, 1, Access::read), Status::bad_argument,
                "pages outside of the heap");
  const int result = at.finish();
  expect_status(node.finish(), Status::bad_argument, "a job ends once");
  return result;
}

TEST(Node, RefusesCallsThatMakeNoSense) { TestJob("misuse", 1).expect_success(); }

ROLE(threads_of_a_lock) {
  Member at;
  at.begin();
  constexpr int threads = 3, adds = 200;
  std::vector<std::thread> all;
  for (int i = 0; i < threads; i++) {
    all.emplace_back([&] {
      for (int add = 0; add < adds; add++) {
        at.lock(7);
        at.words[0] = at.words[0] + 1;
        at.unlock(7);
      }
    });
  }
  for (std::thread& each : all) each.join();
  at.barrier();
  check(at.words[0] == std::uint64_t{adds} * threads * at.ranks(), "each addition counts",
        at.words[0]);
  return at.finish();
}

TEST(Node, GivesALockToOneThreadAtATime) { TestJob("threads_of_a_lock", 2).expect_success(); }

// Rank 0 wrote in the replay, and its bytes are the initial ones. [DSM-START-1] [DSM-MAIL-6]
ROLE(replay) {
  Member at;
  at.words[0] = 7 + at.me();
  at.words[5 * at.page_words] = 9 + at.me();
  const Placement homes[] = {{5, 1, 1}};
  at.begin(litmus_pages, homes);
  check(at.words[0] == 7, "rank 0's bytes are in the heap", at.words[0]);
  check(at.words[5 * at.page_words] == 9, "and in a page whose home was chosen",
        at.words[5 * at.page_words]);
  check(at.words[at.page_words] == 0, "other pages are zeroes", at.words[at.page_words]);
  at.barrier();
  return at.finish();
}

TEST(Node, BeginsWithTheBytesOfRank0) { TestJob("replay", 3).expect_success(); }

ROLE(different_replays) {
  Member at;
  const Result result = at.node->begin(at.me(), 1, {});
  check(result == Result{Status::bad_argument, 1}, "the other rank is named", result.rank);
  return 0;
}

// [DSM-START-2]
TEST(Node, NamesTheRankWhoseReplayDiffers) { TestJob("different_replays", 2).expect_success(); }

ROLE(different_homes) {
  Member at;
  const Placement homes[] = {{0, litmus_pages, 0, at.me() == 1}};
  const Result result = at.node->begin(1, litmus_pages, homes);
  check(result == Result{Status::bad_argument, 1}, "the other rank is named", result.rank);
  return 0;
}

// All pages at one rank, and pages by turns, of the same stretch. [DSM-START-2]
TEST(Node, NamesTheRankWhoseHomesDiffer) { TestJob("different_homes", 2).expect_success(); }

// Says why it cannot start.
ROLE(no_start) {
  Node::Options options;
  std::string error;
  check(Node::read_environment(&options, &error), error.c_str());
  check(Node::start(options, &error) == nullptr, "no start");
  parent.say(error);
  return 0;
}

// [DSM-MEET-1] [DSM-MEET-3]
TEST(Node, NamesSettingsThatDiffer) {
  TestJob job("no_start", 2, {{"IW_DSM_PAGE", "4096"}}, {{"IW_DSM_PAGE", "65536"}});
  for (Rank rank = 0; rank < 2; rank++) {
    EXPECT_EQ(job.at(rank).line().hear_text(),
              "the page's size (IW_DSM_PAGE) is 4096 at rank 0 and 65536 at rank 1; start all "
              "ranks with the same settings");
  }
  job.expect_success();
}

ROLE(first_address_is_taken) {
  std::unique_ptr<Heap> other;
  const std::uintptr_t first = Heap::addresses().front();
  if (number_of_environment("IW_RANK", 0) == 1) {
    bool is_taken = false;
    std::string error;
    other = Heap::map({std::size_t{1} << 20, 4096, FaultWay::best},
                      reinterpret_cast<std::byte*>(first), &is_taken, &error);
    check(other != nullptr, error.c_str());
  }
  Member at;
  check(at.node->heap().begin() != reinterpret_cast<std::byte*>(first), "another address");
  at.begin();
  at.words[at.me()] = 1;
  at.barrier();
  check(at.words[0] == 1 && at.words[1] == 1, "the heap is shared there");
  at.barrier();
  return at.finish();
}

// [DSM-MEET-2]
TEST(Node, MapsTheHeapWhereAllRanksHaveRoom) {
  TestJob("first_address_is_taken", 2).expect_success();
}

ROLE(different_barriers) {
  Member at;
  at.begin();
  const Result first = at.node->barrier(10 + at.me());
  check(first.status == Status::bad_argument, "the call fails");
  check(at.node->lock(1) == first, "the next call fails alike");
  return 0;
}

// [DSM-BARRIER-3] [DSM-END-2]
TEST(Node, EndsTheJobAtDifferentBarriers) { TestJob("different_barriers", 2).expect_success(); }

// The rank that comes to a collective, or finishes, is a leaf of the tree; its parent names it.
ROLE(different_places) {
  Member at;
  at.begin();
  Result result;
  if (at.me() == 2 && number_of_environment("IW_TEST_FINISHES", 0) != 0) {
    result = at.node->finish();
  } else if (at.me() == 2) {
    {
      const fabric::Exclusion exclusion(at.node->worker());
      at.node->come_to_collective();
    }
    result = at.node->wait([] { return false; });
  } else {
    result = at.node->barrier(7);
  }
  parent.say_value(result);
  // The end of this rank would be a death.
  parent.hear();
  return 0;
}

// [DSM-BARRIER-4]
TEST(Node, EndsTheJobWhenRanksWaitForEachOtherInDifferentPlaces) {
  for (const char* finishes : {"0", "1"}) {
    TestJob job("different_places", 3, {{"IW_DSM_FAN_IN", "1"}, {"IW_TEST_FINISHES", finishes}});
    for (Rank rank = 0; rank < 3; rank++) {
      EXPECT_EQ(job.at(rank).line().hear_value<Result>(), (Result{Status::bad_argument, 2}))
          << "rank " << rank;
    }
  }
}

// Rank 0 waits for something that rank 1 would have to do.
ROLE(different_places_of_children) {
  Member at;
  at.begin();
  parent.say_value(at.me() == 0   ? at.node->wait([] { return false; })
                   : at.me() == 1 ? at.node->finish()
                                  : at.node->barrier(7));
  // The end of this rank would be a death.
  parent.hear();
  return 0;
}

// [DSM-BARRIER-4]
TEST(Node, EndsTheJobWhenOneChildFinishesAndAnotherIsAtABarrier) {
  TestJob job("different_places_of_children", 3);
  for (Rank rank = 0; rank < 3; rank++) {
    EXPECT_EQ(job.at(rank).line().hear_value<Result>(), (Result{Status::bad_argument, 1}))
        << "rank " << rank;
  }
}

TEST(Node, TellsAllRanksThatOneCannotWriteItsTrace) {
  TestJob job("no_start", 2, {{"IW_DSM_TRACE", "/dev/null/no"}});
  for (Rank rank = 0; rank < 2; rank++) {
    EXPECT_NE(job.at(rank).line().hear_text().find("/dev/null/no"), std::string::npos);
  }
  job.expect_success();
  TestJob other("no_start", 2,
                {{"IW_DSM_TRACE", "/tmp/iw-dsm-no-trace-" + std::to_string(getpid())}},
                {{"IW_DSM_TRACE", "/dev/null/no"}});
  EXPECT_EQ(other.at(0).line().hear_text(), "rank 1 could not start; its own output says why");
  other.at(1).line().hear_text();
  other.expect_success();
  std::filesystem::remove("/tmp/iw-dsm-no-trace-" + std::to_string(getpid()) + ".0");
}

// [DSM-LOCK-7] Without a barrier.
ROLE(many_locks) {
  const LockId locks = number_of_environment("IW_TEST_MANY_LOCKS", 20'000);
  Member at;
  at.begin();
  std::uint64_t most = 0;
  for (LockId lock = at.me(); lock < locks; lock += at.ranks()) {
    at.lock(lock);
    at.unlock(lock);
    if (lock % 64 == at.me()) most = std::max(most, at.node->stats().remembered_locks);
  }
  at.barrier();
  check(most < locks / 2, "locks are forgotten", most);
  return at.finish();
}

TEST(Node, ForgetsLocksThatAreNobodys) {
  TestJob("many_locks", 3, {{"IW_DSM_LOCKS", "500"}}).expect_success();
}

// 70,000 notices are more than a message holds. [DSM-MAIL-2]
ROLE(many_notices) {
  constexpr std::size_t pages = 70'000;
  Member at;
  const Placement homes[] = {{0, pages, 0}};
  at.begin(pages, homes);
  // Of pages that nobody else has had there are no notices.
  if (at.me() == 1) {
    check(at.node->touch(0, pages, Access::read).is_ok(), "pages can be touched");
    check(at.words[(pages - 1) * at.page_words] == 0, "the page is empty before");
  }
  at.barrier();
  for (std::size_t page = 0; at.me() == 0 && page < pages; page++) {
    at.words[page * at.page_words] = page + 1;
  }
  at.barrier();
  if (at.me() == 0) check(sent(at.node->stats(), Message::part) > 0, "notices went in parts");
  for (std::size_t page = at.me() == 1 ? 99 : pages; page < pages; page += 10'000) {
    check(at.words[page * at.page_words] == page + 1, "a page that was noticed is new");
  }
  check(at.words[(pages - 1) * at.page_words] == pages, "and so is the last one");
  at.barrier();
  return at.finish();
}

TEST(Node, SendsLongListsOfNoticesInParts) { TestJob("many_notices", 2).expect_success(); }

// A diff of every second byte of a page is larger than a buffer. [DSM-MAIL-3] [DSM-MAIL-4]
ROLE(large_diffs) {
  constexpr std::size_t pages = 6;
  Member at;
  const Placement homes[] = {{0, pages, 0}};
  at.begin(pages, homes);
  at.barrier();
  const std::size_t bytes = pages * at.node->heap().page_bytes();
  auto* const heap = reinterpret_cast<volatile unsigned char*>(at.words);
  const auto value = [](std::size_t i) { return static_cast<unsigned char>(1 + i % 251); };
  for (std::size_t i = at.me(); i < bytes; i += 2) heap[i] = value(i);
  at.barrier();
  for (std::size_t i = 0; i < bytes; i++) check(heap[i] == value(i), "each byte is there", i);
  const Stats stats = at.node->stats();
  if (at.me() == 1) {
    check(stats.mail.diffs == pages, "a diff a page", stats.mail.diffs);
    const bool is_pipe = number_of_environment("IW_TEST_PIPE", 1) != 0;
    check((stats.mail.stalls > 0) == is_pipe, "stalls", stats.mail.stalls);
    check((stats.mail.buffers > pages) == is_pipe, "buffers", stats.mail.buffers);
  }
  at.barrier();
  return at.finish();
}

TEST(Node, SendsDiffsThatAreLargerThanABufferInPieces) {
  TestJob("large_diffs", 2, {{"IW_DSM_PAGE", "64K"}, {"IW_DSM_BUFFER", "4K"}}).expect_success();
  TestJob("large_diffs", 2,
          {{"IW_DSM_PAGE", "64K"}, {"IW_DSM_DIFFS", "orig"}, {"IW_TEST_PIPE", "0"}})
      .expect_success();
}

// [DSM-PAGE-8] [DSM-LOCK-3]
ROLE(message_counts) {
  const LockId locks = number_of_environment("IW_TEST_LOCKS", 10'000);
  Member at;
  at.begin();
  if (at.me() == 0) {
    for (LockId lock = 0; lock < locks; lock++) {
      at.lock(lock);
      at.unlock(lock);
    }
    for (std::size_t page = 0; page < litmus_pages; page++) at.words[page * at.page_words] = 1;
    const std::uint64_t before = messages_of(at);
    for (LockId lock = 0; lock < locks; lock++) {
      at.lock(lock);
      at.words[lock % (litmus_pages * at.page_words)] = lock;
      at.unlock(lock);
    }
    check(messages_of(at) == before, "what is here costs no message", messages_of(at) - before);
  }
  at.barrier();
  return at.finish();
}

// As many free locks stay as IW_DSM_LOCKS says, so that none is given back. [DSM-LOCK-7]
TEST(Node, SendsNothingForLocksAndPagesThatAreHere) {
  TestJob("message_counts", 2, {{"IW_DSM_LOCKS", "100000"}}).expect_success();
}

// Word 0 counts the hand-overs, and word 1 is the holder before: a rank that acquires a lock that
// it released last got it from nobody.
ROLE(hand_overs) {
  Member at;
  at.begin();
  const std::uint64_t wanted = number_of_environment("IW_TEST_HAND_OVERS", 1500);
  // The other ranks wait at the barrier, and acquire nothing.
  const std::uint64_t active = number_of_environment("IW_TEST_ACTIVE", at.ranks());
  const std::size_t pages = number_of_environment("IW_TEST_PAGES", 1);
  std::uint64_t log_most = 0;
  for (std::uint64_t seen = 0; seen < wanted && at.me() < active;) {
    at.lock(1);
    const std::uint64_t own = at.me() + 1ull;
    seen = at.words[0];
    if (at.words[1] != own) {
      seen++;
      for (std::size_t page = 0; page < pages; page++) at.words[page * at.page_words] = seen;
      at.words[1] = own;
    }
    at.unlock(1);
    if (seen % 64 < active) log_most = std::max(log_most, at.node->stats().log_bytes);
  }
  const Stats stats = at.node->stats();
  check(stats.collections > 0 || at.me() >= active, "logs are collected");
  // An interval takes some 70 bytes. A rank that gets no processor for a while delays a collection.
  const std::uint64_t log_bound = std::max<std::uint64_t>(100 << 10, wanted);
  check(log_most < log_bound, "the log stays small", log_most);
  at.barrier();
  return at.finish();
}

// [DSM-LOG-1]
TEST(Node, CollectsLogsInProgramsWithoutBarriers) {
  TestJob("hand_overs", 3, {{"IW_DSM_LOG", "8K"}}).expect_success();
}

// [DSM-LOG-1]
TEST(Node, CollectsLogsThoughOneRankAcquiresNothing) {
  // All their intervals would take 165 KB.
  TestJob("hand_overs", 3,
          {{"IW_DSM_LOG", "8K"},
           {"IW_TEST_ACTIVE", "2"},
           {"IW_TEST_PAGES", "64"},
           {"IW_TEST_HAND_OVERS", "300"}})
      .expect_success();
}

// Each rank adds to random words under their locks. All know all seeds, so all know the sums.
ROLE(random_sums) {
  constexpr LockId locks = 5;
  constexpr std::size_t pages = 12;
  Member at;
  at.begin(pages);
  const auto seed = static_cast<unsigned>(number_of_environment("IW_SEED", 1));
  const std::uint64_t adds = number_of_environment("IW_TEST_ADDS", 400);
  const std::size_t words = pages * at.page_words;
  const auto for_each_add = [&](Rank rank, const auto& call) {
    std::mt19937 random(seed + rank);
    for (std::uint64_t i = 0; i < adds; i++) {
      const std::size_t word = random() % words;
      call(word, random() % 1000);
    }
  };
  for_each_add(at.me(), [&](std::size_t word, std::uint64_t more) {
    at.lock(word % locks);
    at.words[word] = at.words[word] + more;
    at.unlock(word % locks);
    if (more % 16 == 0) at.delay();
  });
  at.barrier();
  std::vector<std::uint64_t> sums(words);
  for (Rank rank = 0; rank < at.ranks(); rank++) {
    for_each_add(rank, [&](std::size_t word, std::uint64_t more) { sums[word] += more; });
  }
  for (std::size_t i = 0; i < words; i++) check(at.words[i] == sums[i], "a word is its sum", i);
  at.barrier();
  return at.finish();
}

// [DSM-PULL-1] [DSM-PULL-2] [DSM-BARRIER-5]
TEST(Node, SeesOneMemoryWithEachSwitch) {
  for (const Environment& each :
       {Environment{{"IW_DSM_PULL", "yes"}},
        {{"IW_DSM_FETCH", "writer"}},
        {{"IW_DSM_PULL", "yes"}, {"IW_DSM_FETCH", "writer"}, {"IW_DSM_KEEP", "8K"}}}) {
    Environment switches = each;
    switches["IW_DSM_DIRECT"] = "no";
    switches["IW_DSM_FAN_IN"] = "1";
    switches["IW_DSM_LOCKS"] = "2";
    TestJob("random_sums", 4, switches).expect_success();
  }
}

// Rank 0 is the home, rank 2 writes, and rank 1 reads what it has an older copy of.
ROLE(reads_at_writer) {
  constexpr Rank home = 0, reader = 1, writer = 2;
  const bool is_pulled = std::getenv("IW_DSM_PULL") != nullptr;
  const Placement homes[] = {{0, 1, home}};
  Member at;
  at.begin(litmus_pages, homes);
  if (at.me() == reader) check(at.words[1] == 0, "the page is zeroes");
  at.barrier();
  if (at.me() == writer) at.words[0] = 7;
  at.barrier();
  if (at.me() == reader) check(at.words[0] == 7, "the store is seen", at.words[0]);
  const PageCounts counts = at.node->stats().pages;
  check(counts.writer_reads == (at.me() == reader ? 1u : 0u), "the writer is asked");
  check((counts.kept_bytes > 0) == (at.me() == writer), "the writer keeps its diff");
  check(counts.pulls == 0, "the home needs no diff");
  check(at.node->stats().mail.diffs == (at.me() == writer && !is_pulled ? 1u : 0u),
        "the home gets the diff if it does not pull");
  at.barrier();
  if (at.me() == home) check(at.words[0] == 7, "the home sees the store", at.words[0]);
  at.barrier();
  check(at.node->stats().pages.pulls == (at.me() == home && is_pulled ? 1u : 0u),
        "the home pulls once");
  return at.finish();
}

// [DSM-PULL-1] [DSM-PULL-2]
TEST(Node, ReadsAtTheLastWriterAndPullsWhatTheHomeNeeds) {
  for (const Environment& each : {Environment{}, {{"IW_DSM_PULL", "yes"}}}) {
    Environment switches = each;
    switches["IW_DSM_DIRECT"] = "no";
    switches["IW_DSM_FETCH"] = "writer";
    TestJob("reads_at_writer", 3, switches).expect_success();
  }
}

// Rank 1 asks rank 0, a home, for a page with stores of rank 2 that never were. Rank 2 stored to
// the page once if IW_TEST_STORES says so.
ROLE(needs_no_interval) {
  constexpr Rank home = 0, forger = 1, writer = 2;
  constexpr PageNumber page = 5;
  const Placement homes[] = {{page, 1, home}};
  Member at;
  Node& node = *at.node;
  at.begin(litmus_pages, homes);
  const bool stores = number_of_environment("IW_TEST_STORES", 0) != 0;
  if (at.me() == writer && stores) at.words[page * at.page_words] = 7;
  at.barrier();
  if (at.me() == forger) {
    fabric::PeerId peer = 0;
    while (node.rank_of(peer) != home) peer++;
    const PageHead head{page};
    std::vector<std::byte> stamps;
    append_stamps(std::vector<Stamp>{{writer, 1'000'000}}, &stamps);
    const fabric::Exclusion exclusion(node.worker());
    const Status status =
        node.worker().send(peer, static_cast<fabric::MessageId>(Message::ask_page),
                           fabric::bytes_of(head), stamps, nullptr);
    check(status == Status::ok, "the question is sent", static_cast<std::uint64_t>(status));
  }
  parent.say_value(node.wait([] { return false; }));
  // The end of this rank would be a death.
  parent.hear();
  return 0;
}

// The page would wait for ever. [DSM-PULL-3]
TEST(Node, EndsTheJobWhenARankNeedsStoresThatNeverWere) {
  for (const char* stores : {"0", "1"}) {
    TestJob job("needs_no_interval", 3, {{"IW_DSM_PULL", "yes"}, {"IW_TEST_STORES", stores}});
    for (Rank rank = 0; rank < 3; rank++) {
      EXPECT_EQ(job.at(rank).line().hear_value<Result>(), (Result{Status::failed, 1}))
          << "rank " << rank;
    }
  }
}

// Says how many messages this rank sent in dsm_finish, which begins the job if no barrier did.
ROLE(counts_finish) {
  const bool has_barrier = number_of_environment("IW_TEST_BARRIER", 1) != 0;
  Member at;
  if (has_barrier) at.begin();
  if (has_barrier) at.barrier();
  const std::uint64_t before = messages_of(at);
  if (!has_barrier) at.begin();
  const int result = at.finish();
  parent.say_value(messages_of(at) - before);
  return result;
}

// As interweave/dsm.h says. [DSM-BARRIER-4] [DSM-END-1]
TEST(Node, FinishesWithFourMessagesForEachRankButOne) {
  for (const Rank ranks : {2, 4, 8}) {
    for (const auto& [barrier, each] : {std::pair("1", 4u), std::pair("0", 6u)}) {
      TestJob job("counts_finish", ranks, {{"IW_TEST_BARRIER", barrier}});
      std::uint64_t sum = 0;
      for (Rank rank = 0; rank < ranks; rank++) {
        sum += job.at(rank).line().hear_value<std::uint64_t>();
      }
      EXPECT_EQ(sum, each * (ranks - 1u));
      job.expect_success();
    }
  }
}

class RandomSums : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(By, RandomSums, ::testing::Values("pipe", "orig"));

TEST_P(RandomSums, AreTheSameAtAllRanks) {
  std::mt19937 random = testing::seeded_random();
  const std::string seed = std::to_string(random());
  for (const auto& [faults, direct] : {std::pair("best", "no"), std::pair("sigsegv", "yes")}) {
    TestJob("random_sums", 3,
            {{"IW_DSM_DIFFS", GetParam()},
             {"IW_DSM_FAULTS", faults},
             {"IW_DSM_DIRECT", direct},
             {"IW_SEED", seed}})
        .expect_success();
  }
}

}  // namespace iw::dsm
