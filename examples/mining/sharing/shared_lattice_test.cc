// What another process reads from the segment after every step is what mining from scratch finds:
// the miner, the stores of its changes and their way to a reader together. Needs a server, whose
// address is in $MINING_TEST_SERVER.
#include "sharing/shared_lattice.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "database/replay.h"
#include "database/transaction_file.h"
#include "miner/random_case.h"
#include "miner/simple_miner.h"
#include "sharing/lattice_reader.h"

namespace mining {
namespace {

LatticeReader* reader;  // forked by main, before the library is used

std::string url_of(const std::string& name) {
  return std::string(std::getenv("MINING_TEST_SERVER")) + "/" + name;
}

std::string text_of(const Sequence& sequence) {
  std::string text;
  for (const Extension& one : sequence) {
    if (!text.empty()) text += one.with_last ? '+' : ' ';
    text += std::to_string(one.item);
  }
  return text;
}

void expect_seen(const std::string& url, std::span<const Transaction> transactions,
                 const MiningOptions& options, unsigned step) {
  const SeenLattice seen = reader->look(url);
  EXPECT_EQ(seen.wrong, "");
  std::map<std::string, std::uint32_t> wanted;
  for (const auto& [sequence, support] : mine_from_scratch(transactions, options)) {
    wanted[text_of(sequence)] = support;
  }
  std::set<std::uint32_t> customers;
  for (const Transaction& one : transactions) customers.insert(one.customer);
  EXPECT_EQ(seen.frequent, wanted);
  EXPECT_EQ(seen.sequences, wanted.size());
  EXPECT_EQ(seen.customers, customers.size());
  EXPECT_EQ(seen.transactions, transactions.size());
  EXPECT_EQ(seen.step, step);
}

// Publishes a lattice over whatever the segment holds, and every step of it.
Changes expect_seen_after_every_step(const std::string& url, const Database& database,
                                     const MiningOptions& options) {
  Miner miner(options);
  SharedLattice shared{iw::Segment(url)};
  Changes all;
  std::size_t so_far = 0;
  for (unsigned step = 0; step <= kGrowingSteps; ++step) {
    const auto transactions = step_of(database, step);
    so_far += transactions.size();
    Changes changes = miner.add(transactions);
    shared.publish(miner, changes, step, step == kGrowingSteps);
    expect_seen(url, {database.data(), so_far}, options, step);
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << "after step " << step;
      break;
    }
    all.added.insert(all.added.end(), changes.added.begin(), changes.added.end());
    for (auto& one : changes.removed) all.removed.push_back(std::move(one));
  }
  return all;
}

// Each replaces the lattice of the one before, so the reader sees segments that hold others', too.
TEST(SharedLattice, IsWhatMiningFromScratchFindsInRandomDatabases) {
  Random random(2);
  std::size_t came = 0, went = 0;
  for (int round = 0; round < 12 && !HasFailure(); ++round) {
    const RandomCase one = random_case(random);
    const Changes all = expect_seen_after_every_step(url_of("random"), one.database, one.options);
    came += all.added.size();
    went += all.removed.size();
  }
  EXPECT_GT(came, 200U);
  EXPECT_GT(went, 20U);
}

TEST(SharedLattice, IsWhatMiningFromScratchFindsInRealData) {
  Database database;
  ASSERT_EQ(read_transactions(MINING_DATA "/online_retail_seq.txt", database), std::nullopt);
  const Changes all =
      expect_seen_after_every_step(url_of("real"), database, {.minimum_percent = 11});
  EXPECT_GT(all.added.size(), 15U);
}

TEST(SharedLattice, ABuilderWhoseLatticeWasReplacedIsToldAndChangesNothing) {
  const Database database{{1, {1, 2}}, {2, {1}}, {1, {3}}, {2, {3}}};
  const MiningOptions options{.minimum_percent = 50};
  const std::string url = url_of("replaced");
  Miner first_miner(options), second_miner(options);
  SharedLattice first{iw::Segment(url)}, second{iw::Segment(url)};
  first.publish(first_miner, first_miner.add(database), 0, false);
  second.publish(second_miner, second_miner.add({database.data(), 2}), 7, false);
  EXPECT_THROW(first.publish(first_miner, first_miner.add(database), 1, false), NotOurs);
  expect_seen(url, {database.data(), 2}, options, 7);
}

TEST(SharedLattice, ASegmentThatHoldsSomethingElseIsLeftAlone) {
  const std::string url = url_of("other");
  const iw::Segment segment(url);
  {
    iw::WriteLock lock(segment);
    (void)iw::make<pattern_t>(segment, "lattice");
    lock.release();
  }
  Miner miner({});
  SharedLattice shared{iw::Segment(url)};
  EXPECT_THROW(shared.check_segment(), NotOurs);
  EXPECT_THROW(shared.publish(miner, {}, 0, false), NotOurs);
  const iw::ReadLock lock(segment);
  EXPECT_NE(segment.find<pattern_t>("lattice"), nullptr);
}

}  // namespace
}  // namespace mining

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  mining::LatticeReader reader;
  mining::reader = &reader;
  return RUN_ALL_TESTS();
}
