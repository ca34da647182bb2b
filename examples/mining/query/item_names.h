// The names of items: their numbers, or their codes in a file (`number code` a line).
#pragma once

#include <map>
#include <optional>
#include <string>

#include "database/transaction.h"

namespace mining {

class ItemNames {
 public:
  // Returns what is wrong, if anything is.
  std::optional<std::string> read(const std::string& path);

  std::string name_of(Item item) const;
  std::optional<Item> item_named(const std::string& name) const;

 private:
  std::map<Item, std::string> names_;
  std::map<std::string, Item> items_;
};

}  // namespace mining
