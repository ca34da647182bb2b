// Synthetic databases of customer transactions, made as R. Agrawal and R. Srikant describe
// (Mining Sequential Patterns, ICDE 1995) and with the names and defaults of the parameters of the
// Quest project's data, on which the InterWeave paper's mining ran.
//
// Customers tend to buy whole sequences of sets of items, from a pool of such patterns of different
// popularity; but not always all of them.
#pragma once

#include <cstdint>

#include "database/transaction.h"

namespace mining {

// The defaults are those with which a database has the 20 MB that the paper speaks of. Its words
// "an average of 1.25 transactions per customer" are those of item_set_size: with
// transactions_per_customer = 1.25 the database has 2.2 MB.
struct QuestOptions {
  std::uint32_t customers = 100'000;      // D
  double transactions_per_customer = 10;  // C
  double items_per_transaction = 2.5;     // T
  double sequence_length = 4;             // S, in sets of items
  double item_set_size = 1.25;            // I
  std::uint32_t items = 1'000;            // N
  std::uint32_t sequence_patterns = 5'000;
  std::uint32_t item_set_patterns = 25'000;
  double correlation = 0.25;  // of a pattern with the one before it
  double confidence_mean = 0.75, confidence_deviation = 0.1;
  std::uint64_t seed = 1;
};

// Customer by customer; the transactions of each in the order of time.
Database make_quest_database(const QuestOptions& options);

}  // namespace mining
