// The frequent sequences of a growing database, kept up to date step by step.
//
// Sequences form a tree: each extends the one without its last item. Each frequent sequence counts,
// for every extension that occurs, the customers who have it (support); the counts below the
// minimum are the border between what is frequent and what is not. New transactions are run down
// the tree, with the customer's history only where they add to it. An extension whose count reaches
// the minimum becomes a sequence of its own, whose extensions are then counted once in the
// histories of the customers who have it; nothing else is looked at again.
//
// The minimum is a share of the customers and rises with their number, so that many sequences fall
// below it and come back soon. They stay in the tree until they are well below it.
//
// Invariants between calls: every sequence of at most `longest` items with a support of at least
// minimum() is in the tree; others only if they had it once, and at least kept_from() since; all
// counts are exact.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "database/transaction.h"
#include "miner/count_table.h"
#include "miner/extension.h"
#include "miner/history.h"

namespace mining {

struct MiningOptions {
  double minimum_percent = 1;  // of the customers
  double kept_share = 0.8;     // of the minimum: what was frequent is forgotten below it
  unsigned longest = 8;        // items of a sequence
};

struct FrequentSequence {
  FrequentSequence* prefix = nullptr;  // null: the empty sequence
  Extension last;
  std::uint32_t length = 0;   // in items
  std::uint32_t row = 0;      // a number that no other sequence of the tree has; small
  std::uint32_t support = 0;  // customers
  std::map<Extension, std::unique_ptr<FrequentSequence>> extensions;
  CountTable counts;
};

// What a step did to the tree, except that supports have grown. Added sequences are in the order of
// rows, the most frequent first, because their supports grow most.
struct Changes {
  std::vector<FrequentSequence*> added;                    // prefixes before what extends them
  std::vector<std::unique_ptr<FrequentSequence>> removed;  // with all that extend them
};

class Miner {
 public:
  explicit Miner(const MiningOptions& options);

  Changes add(std::span<const Transaction> transactions);

  const FrequentSequence& root() const { return root_; }
  std::size_t customers() const { return histories_.size(); }
  std::size_t transactions() const { return transactions_; }
  std::uint32_t minimum() const { return minimum_; }
  std::uint32_t kept_from() const { return kept_from_; }
  std::size_t sequences() const { return sequences_; }  // frequent ones, without the empty one
  std::size_t rows() const { return rows_; }            // all rows are less

 private:
  using Customer = std::uint32_t;  // an index into histories_
  // The customers who have a sequence, and where it ends in each one's history.
  struct Projection {
    std::vector<Customer> customers;
    std::vector<Ends> ends;
  };
  struct Candidate {
    FrequentSequence* prefix;
    Extension extension;
  };

  // Returns the customers whose histories grew, each with its size before.
  std::map<Customer, std::int32_t> append(std::span<const Transaction> transactions);
  void count_growth(FrequentSequence& sequence, const History& history, const Ends& ends,
                    std::int32_t size_before);
  // Also counts the frequent ones.
  void remove_rare(FrequentSequence& sequence, Changes& changes);
  void give_rows_back(const FrequentSequence& sequence);
  Projection project(const Sequence& path) const;
  Projection project(const Projection& prefix, Extension extension) const;
  void number_rows(Changes& changes);
  void add_sequence(FrequentSequence& prefix, Extension extension, const Projection& projection,
                    Changes& changes);

  MiningOptions options_;
  FrequentSequence root_;
  std::vector<History> histories_;
  std::unordered_map<std::uint32_t, Customer> customer_of_number_;
  std::unordered_map<Item, std::vector<Customer>> customers_of_item_;  // who bought it; each once
  std::vector<Candidate> candidates_;  // extensions whose counts have just reached the minimum
  std::vector<std::uint32_t> free_rows_;
  std::size_t transactions_ = 0;
  std::size_t sequences_ = 0;
  std::size_t rows_ = 0;
  std::uint32_t minimum_ = 0;
  std::uint32_t kept_from_ = 0;
};

}  // namespace mining
