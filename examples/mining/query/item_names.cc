#include "query/item_names.h"

#include <fstream>

#include "command_line/arguments.h"

namespace mining {

std::optional<std::string> ItemNames::read(const std::string& path) {
  std::ifstream file(path);
  Item item = 0;
  for (std::string name; file >> item && file.get() == ' ' && std::getline(file, name);) {
    names_[item] = name;
    items_[name] = item;
  }
  if (!file.eof() || names_.empty()) return path + ": not lines of the form `number code`";
  return std::nullopt;
}

std::string ItemNames::name_of(Item item) const {
  const auto found = names_.find(item);
  return found == names_.end() ? std::to_string(item) : found->second;
}

std::optional<Item> ItemNames::item_named(const std::string& name) const {
  if (const auto found = items_.find(name); found != items_.end()) return found->second;
  const auto number = command_line::whole_number(name);
  if (!names_.empty() || !number || *number > kLargestItem) return std::nullopt;
  return static_cast<Item>(*number);
}

}  // namespace mining
