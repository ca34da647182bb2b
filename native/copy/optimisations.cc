#include "copy/optimisations.h"

#include <array>
#include <cstdlib>
#include <string>
#include <utility>

#include "track/tracker.h"
#include "types/plan.h"

namespace iw::copy {

using types::Result;

namespace {

struct Named {
  std::string_view name;
  bool Optimisations::*member;
};
constexpr std::array known{
    Named{"no-diff", &Optimisations::no_diff}, Named{"plans", &Optimisations::plans},
    Named{"splicing", &Optimisations::splicing}, Named{"prediction", &Optimisations::prediction}};

Result unknown(std::string_view word) {
  std::string text = "IW_OPTIMISATIONS: unknown word '" + std::string(word) +
                     "'; the words are all, none, and with or without '-' before them";
  const char* separator = " ";
  for (const Named& one : known) {
    text.append(separator).append(one.name);
    separator = ", ";
  }
  return {types::error_code::BAD_ARGUMENT, std::move(text)};
}

bool apply(std::string_view word, Optimisations& out) {
  if (word.empty()) return true;
  const bool is_on = word.front() != '-';
  const std::string_view name = is_on ? word : word.substr(1);
  bool is_known = false;
  for (const Named& one : known) {
    const bool is_meant = name == one.name || (is_on && (name == "all" || name == "none"));
    if (!is_meant) continue;
    out.*one.member = is_on && name != "none";
    is_known = true;
  }
  return is_known;
}

struct Configured {
  Optimisations optimisations;
  Result result;

  Configured() {
    const char* const text = std::getenv("IW_OPTIMISATIONS");
    if (text != nullptr) result = parse_optimisations(text, optimisations);
    types::set_merging_of_plans(optimisations.plans);
    if (!optimisations.no_diff) track::set_opening(track::OpeningRule::never);
  }
};

const Configured& configured() {
  static const Configured once;
  return once;
}

}  // namespace

Result parse_optimisations(std::string_view text, Optimisations& out) {
  out = {};
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    if (!apply(word, out)) return unknown(word);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return {};
}

const Result& check_optimisations() { return configured().result; }
const Optimisations& optimisations() { return configured().optimisations; }

}  // namespace iw::copy
