#include "select_records/record.h"

#include <sstream>

#include "command_line/arguments.h"

namespace select_records {
namespace {

constexpr const char* field_names[] = {"id", "station", "kind", "time", "x", "y", "z", "value"};

// splitmix64: numbers that look random, one after another.
std::uint64_t next_random(std::uint64_t* state) {
  std::uint64_t mixed = *state += 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
  return mixed ^ mixed >> 31;
}

// From 0 to 1.
double next_share(std::uint64_t* state) {
  return static_cast<double>(next_random(state) >> 11) * 0x1p-53;
}

}  // namespace

Record record_of(std::uint64_t id) {
  std::uint64_t state = id;
  Record record{};
  record.id = id;
  record.station = static_cast<std::uint32_t>(next_random(&state) % 100);
  record.kind = static_cast<std::uint32_t>(next_random(&state) % 10);
  record.time_s = static_cast<double>(id) * 0.5;
  record.x = next_share(&state);
  record.y = next_share(&state);
  record.z = next_share(&state);
  record.value = next_share(&state);
  return record;
}

std::optional<Condition::Comparison> Condition::parse_one(const std::string& word) {
  const std::size_t at = word.find_first_of("<>=");
  if (at == std::string::npos) return std::nullopt;
  const auto number = command_line::decimal_number(word.substr(at + 1));
  const std::string name = word.substr(0, at);
  const Operator operation = word[at] == '<'   ? Operator::kLess
                             : word[at] == '>' ? Operator::kGreater
                                               : Operator::kEqual;
  for (std::uint32_t field = 0; number && field < std::size(field_names); field++) {
    if (name == field_names[field]) return Comparison{Field{field}, operation, *number};
  }
  return std::nullopt;
}

std::optional<Condition> Condition::parse(const std::string& text, std::string* why) {
  Condition condition;
  std::istringstream words(text);
  bool is_and = false;
  for (std::string word; words >> word; is_and = !is_and) {
    const auto comparison = parse_one(word);
    const bool is_fit = is_and ? word == "and" : comparison && condition.count_ < comparisons_max;
    if (!is_fit) {
      *why = "'" + word + "' is not expected there; conditions are like 'value<0.25 and kind=3', " +
             "up to 8, with id station kind time x y z value";
      return std::nullopt;
    }
    if (!is_and) condition.all_[condition.count_++] = *comparison;
  }
  if (!is_and && condition.count_ > 0) {
    *why = "a comparison is missing after the last 'and'";
    return std::nullopt;
  }
  return condition;
}

double Condition::value_of(const Record& record, Field field) {
  switch (field) {
    case Field::kId:
      return static_cast<double>(record.id);
    case Field::kStation:
      return record.station;
    case Field::kKind:
      return record.kind;
    case Field::kTime:
      return record.time_s;
    case Field::kX:
      return record.x;
    case Field::kY:
      return record.y;
    case Field::kZ:
      return record.z;
    case Field::kValue:
      break;
  }
  return record.value;
}

bool Condition::holds(const Record& record) const {
  for (std::size_t i = 0; i < count_ && i < comparisons_max; i++) {
    const double is = value_of(record, all_[i].field), with = all_[i].with;
    const bool does_hold = all_[i].operation == Operator::kLess      ? is < with
                           : all_[i].operation == Operator::kGreater ? is > with
                                                                     : is == with;
    if (!does_hold) return false;
  }
  return true;
}

}  // namespace select_records
