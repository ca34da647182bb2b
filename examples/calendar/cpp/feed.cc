#include "cpp/feed.h"

#include <map>

namespace agenda {

std::vector<std::string> differences(const std::vector<Entry>& before,
                                     const std::vector<Entry>& after) {
  std::map<unsigned, std::pair<const Entry*, const Entry*>> pairs;  // by number
  for (const Entry& one : before) pairs[one.number].first = &one;
  for (const Entry& one : after) pairs[one.number].second = &one;
  std::vector<std::string> lines;
  for (const auto& [number, pair] : pairs) {
    const auto [was, is] = pair;
    if (was == nullptr) {
      lines.push_back("+ " + is->text());
    } else if (is == nullptr) {
      lines.push_back("- " + was->text());
    } else if (*was != *is) {
      lines.push_back("~ " + is->text());
    }
  }
  return lines;
}

}  // namespace agenda
