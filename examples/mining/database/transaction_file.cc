#include "database/transaction_file.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

namespace mining {
namespace {

struct Ranked {
  std::uint32_t rank;
  Transaction transaction;
};

bool parse(const std::string& line, Ranked& ranked) {
  std::istringstream words(line);
  std::size_t count = 0;
  if (line.find('-') != std::string::npos) return false;  // the stream would wrap a negative number
  ItemSet& items = ranked.transaction.items;
  if (!(words >> ranked.transaction.customer >> ranked.rank >> count)) return false;
  for (Item item; words >> item;) {
    if (item > kLargestItem || (!items.empty() && item <= items.back())) return false;
    items.push_back(item);
  }
  return words.eof() && items.size() == count;
}

}  // namespace

std::optional<std::string> read_transactions(const std::string& path, Database& database) {
  std::ifstream file(path);
  if (!file) return path + ": cannot be read";
  std::vector<Ranked> all;
  std::string line;
  while (std::getline(file, line)) {
    all.emplace_back();
    if (parse(line, all.back())) continue;
    return path + ":" + std::to_string(all.size()) +
           ": not of the form `customer rank n item1 ... itemn` with ascending items below 10000";
  }
  if (all.empty()) return path + ": holds no transactions";
  std::stable_sort(all.begin(), all.end(),
                   [](const Ranked& a, const Ranked& b) { return a.rank < b.rank; });
  database.clear();
  for (Ranked& ranked : all) database.push_back(std::move(ranked.transaction));
  return std::nullopt;
}

}  // namespace mining
