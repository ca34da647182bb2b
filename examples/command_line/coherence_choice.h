// A coherence model as written on the command line: full, strict, delta:3, temporal:0.2,
// diff:5.
#pragma once

#include <optional>
#include <string_view>

namespace command_line {

struct CoherenceChoice {
  enum class Model { kFull, kStrict, kDelta, kTemporal, kDiff };
  Model model = Model::kTemporal;
  double x = 0.2;  // versions (delta), seconds (temporal) or per cent (diff)
  bool operator==(const CoherenceChoice&) const = default;
};

std::optional<CoherenceChoice> coherence_named(std::string_view text);

}  // namespace command_line
