// A record of the shared data set, and the condition that chooses records. Both are shared as they
// are. Needs no DDSS.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace select_records {

struct Record {
  std::uint64_t id;
  std::uint32_t station, kind;
  double time_s, x, y, z, value;
  bool operator==(const Record&) const = default;
};

// Made up; the same for the same id on every machine.
Record record_of(std::uint64_t id);

// Comparisons that must all hold.
class Condition {
 public:
  // Like "value<0.25 and kind=3"; empty: all records. Nothing if the text is invalid; *why says so.
  static std::optional<Condition> parse(const std::string& text, std::string* why);
  bool holds(const Record& record) const;

 private:
  enum class Field : std::uint32_t { kId, kStation, kKind, kTime, kX, kY, kZ, kValue };
  enum class Operator : std::uint32_t { kLess, kGreater, kEqual };
  struct Comparison {
    Field field;
    Operator operation;
    double with;
  };
  static constexpr std::size_t comparisons_max = 8;
  static std::optional<Comparison> parse_one(const std::string& word);
  static double value_of(const Record& record, Field field);

  std::uint64_t count_ = 0;
  std::array<Comparison, comparisons_max> all_{};
};

}  // namespace select_records
