#include "command_line/coherence_choice.h"

#include <cmath>

#include "command_line/arguments.h"

namespace command_line {
namespace {

using Model = CoherenceChoice::Model;

// A bound is a number that is not negative.
std::optional<double> bound(std::string_view text) {
  const auto value = decimal_number(text);
  return value && *value >= 0 ? value : std::nullopt;
}

}  // namespace

std::optional<CoherenceChoice> coherence_named(std::string_view text) {
  if (text == "full") return CoherenceChoice{Model::kFull, 0};
  if (text == "strict") return CoherenceChoice{Model::kStrict, 0};
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto x = bound(text.substr(colon + 1));
  if (!x) return std::nullopt;
  const std::string_view name = text.substr(0, colon);
  if (name == "temporal") return CoherenceChoice{Model::kTemporal, *x};
  if (name == "diff" && *x <= 100) return CoherenceChoice{Model::kDiff, *x};
  if (name == "delta" && std::floor(*x) == *x) return CoherenceChoice{Model::kDelta, *x};
  return std::nullopt;
}

}  // namespace command_line
