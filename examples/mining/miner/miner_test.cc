// The lattice after every step is what mining from scratch finds: in random databases, small and
// full of coincidences, in real data, and in synthetic ones.
#include "miner/miner.h"

#include <gtest/gtest.h>

#include <set>

#include "database/replay.h"
#include "database/transaction_file.h"
#include "miner/simple_miner.h"
#include "quest/quest.h"
#include "quest/random.h"

namespace mining {
namespace {

// Also checks that rows are different and within bounds.
void collect(const FrequentSequence& sequence, const Sequence& spelled,
             std::set<std::uint32_t>& rows, Supports& found) {
  for (const auto& [extension, child] : sequence.extensions) {
    Sequence longer = spelled;
    longer.push_back(extension);
    EXPECT_EQ(child->prefix, &sequence);
    EXPECT_EQ(child->last, extension);
    EXPECT_EQ(child->length, longer.size());
    EXPECT_TRUE(rows.insert(child->row).second);
    found[longer] = child->support;
    collect(*child, longer, rows, found);
  }
}

Supports lattice_of(const Miner& miner) {
  Supports found;
  std::set<std::uint32_t> rows;
  collect(miner.root(), {}, rows, found);
  EXPECT_EQ(found.size(), miner.sequences());
  EXPECT_TRUE(rows.empty() || *rows.rbegin() < miner.rows());
  return found;
}

// Returns how many sequences came and went after the first step.
std::size_t expect_equal_after_every_step(const Database& database, const MiningOptions& options) {
  Miner miner(options);
  std::size_t came_and_went = 0;
  std::size_t so_far = 0;
  for (unsigned step = 0; step <= kGrowingSteps; ++step) {
    const auto transactions = step_of(database, step);
    so_far += transactions.size();
    const Changes changes = miner.add(transactions);
    if (step != 0) came_and_went += changes.added.size() + changes.removed.size();
    EXPECT_EQ(lattice_of(miner), mine_from_scratch({database.data(), so_far}, options))
        << "after step " << step;
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_EQ(so_far, database.size());
  return came_and_went;
}

TEST(Miner, EqualsMiningFromScratchInRandomDatabases) {
  Random random(1);
  std::size_t came_and_went = 0;
  for (int round = 0; round < 60 && !HasFailure(); ++round) {
    const std::size_t customers = 1 + random.below(30);
    const std::size_t items = 2 + random.below(5);
    Database database(150);
    for (Transaction& transaction : database) {
      std::set<Item> chosen{static_cast<Item>(random.below(items))};
      while (random.uniform() < 0.5) chosen.insert(static_cast<Item>(random.below(items)));
      transaction = {static_cast<std::uint32_t>(random.below(customers)),
                     {chosen.begin(), chosen.end()}};
    }
    const MiningOptions options{20 + 60 * random.uniform(), 1 + random.poisson(2)};
    came_and_went += expect_equal_after_every_step(database, options);
  }
  EXPECT_GT(came_and_went, 1000U);
}

TEST(Miner, EqualsMiningFromScratchInRealData) {
  Database database;
  ASSERT_EQ(read_transactions(MINING_DATA "/online_retail_seq.txt", database), std::nullopt);
  EXPECT_EQ(database.size(), 18'536U);
  EXPECT_GT(expect_equal_after_every_step(database, {5, 8}), 20U);
}

TEST(Miner, EqualsMiningFromScratchInSyntheticData) {
  QuestOptions options;
  options.customers = 2'500;
  EXPECT_GT(expect_equal_after_every_step(make_quest_database(options), {0.8, 8}), 20U);
}

TEST(TransactionFile, SaysWhichLineIsWrong) {
  Database database;
  const auto wrong = read_transactions(MINING_DATA "/online_retail_items.txt", database);
  ASSERT_TRUE(wrong.has_value());
  EXPECT_NE(wrong->find("online_retail_items.txt:1: "), std::string::npos);
  EXPECT_NE(read_transactions("/no/such/file", database), std::nullopt);
}

}  // namespace
}  // namespace mining
