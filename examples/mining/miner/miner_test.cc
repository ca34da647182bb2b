// The lattice after every step is what mining from scratch finds: in random databases, small and
// full of coincidences, in real data, and in synthetic ones.
#include "miner/miner.h"

#include <gtest/gtest.h>

#include <set>

#include "database/replay.h"
#include "database/transaction_file.h"
#include "miner/random_case.h"
#include "miner/simple_miner.h"
#include "quest/quest.h"

namespace mining {
namespace {

// Also checks that rows are different.
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

// All that the tree holds, frequent or kept because it was.
Supports tree_of(const Miner& miner) {
  Supports found;
  std::set<std::uint32_t> rows;
  collect(miner.root(), {}, rows, found);
  EXPECT_TRUE(rows.empty() || *rows.rbegin() < miner.rows());
  return found;
}

void expect_equal(const Miner& miner, std::span<const Transaction> transactions,
                  const MiningOptions& options) {
  const Supports tree = tree_of(miner);
  Supports frequent;
  for (const auto& [sequence, support] : tree) {
    EXPECT_GE(support, miner.kept_from());
    if (support >= miner.minimum()) frequent[sequence] = support;
  }
  EXPECT_EQ(frequent.size(), miner.sequences());
  EXPECT_EQ(frequent, mine_from_scratch(transactions, options));
}

// Those kept below the minimum have exact supports, too.
void expect_exact(const Miner& miner, std::span<const Transaction> transactions,
                  const MiningOptions& options) {
  const Supports tree = tree_of(miner);
  MiningOptions kept = options;
  kept.minimum_percent *= kept.kept_share * 0.999;
  const Supports below = mine_from_scratch(transactions, kept);
  for (const auto& [sequence, support] : tree) EXPECT_EQ(below.at(sequence), support);
}

// How many sequences came and went after the first step.
struct Traffic {
  std::size_t came = 0, went = 0;
};

Traffic expect_equal_after_every_step(const Database& database, const MiningOptions& options) {
  Miner miner(options);
  Traffic traffic;
  std::size_t so_far = 0;
  for (unsigned step = 0; step <= kGrowingSteps; ++step) {
    const auto transactions = step_of(database, step);
    so_far += transactions.size();
    const Changes changes = miner.add(transactions);
    if (step != 0) traffic.came += changes.added.size();
    traffic.went += changes.removed.size();
    expect_equal(miner, {database.data(), so_far}, options);
    if (step % 10 == 0) expect_exact(miner, {database.data(), so_far}, options);
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << "after step " << step;
      break;
    }
  }
  EXPECT_EQ(so_far, database.size());
  return traffic;
}

TEST(Miner, EqualsMiningFromScratchInRandomDatabases) {
  Random random(1);
  Traffic all;
  for (int round = 0; round < 60 && !HasFailure(); ++round) {
    const RandomCase one = random_case(random);
    const Traffic traffic = expect_equal_after_every_step(one.database, one.options);
    all.came += traffic.came;
    all.went += traffic.went;
  }
  EXPECT_GT(all.came, 500U);
  EXPECT_GT(all.went, 100U);
}

TEST(Miner, EqualsMiningFromScratchInRealData) {
  Database database;
  ASSERT_EQ(read_transactions(MINING_DATA "/online_retail_seq.txt", database), std::nullopt);
  EXPECT_EQ(database.size(), 18'536U);
  EXPECT_GT(expect_equal_after_every_step(database, {.minimum_percent = 6}).came, 20U);
}

TEST(Miner, EqualsMiningFromScratchInSyntheticData) {
  QuestOptions options;
  options.customers = 2'500;
  const Traffic traffic =
      expect_equal_after_every_step(make_quest_database(options), {.minimum_percent = 0.8});
  EXPECT_GT(traffic.came, 20U);
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
