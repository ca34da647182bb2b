#include "types/registry.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "platform/mutex.h"
#include "platform/no_fork.h"
#include "types/table.h"

namespace iw::types {

struct Registry::State {
  platform::Mutex mutex;
  std::vector<IW_type_t> waiting IW_GUARDED_BY(mutex);  // announced, not yet read
  std::unordered_map<IW_type_t, const Type*> by_table IW_GUARDED_BY(mutex);
  // Of the types that have a name.
  std::unordered_map<const Type*, IW_type_t> tables IW_GUARDED_BY(mutex);
  std::unordered_map<IW_type_t, Result> refused IW_GUARDED_BY(mutex);
  std::map<std::string, const Type*, std::less<>> by_name IW_GUARDED_BY(mutex);
  std::vector<std::unique_ptr<Type>> owned IW_GUARDED_BY(mutex);

  void read_waiting() IW_REQUIRES(mutex);
  Result read(IW_type_t table) IW_REQUIRES(mutex);
  Result admit(TableGroup& group) IW_REQUIRES(mutex);
};

namespace {

Result conflict(const Type& known, const Type& other) {
  const bool layout = known.hash == other.hash;
  return {error_code::TYPE_CONFLICT,
          "type " + other.name + " is registered twice in this program with different " +
              (layout ? "layouts" : "structures") +
              "; the first one stays: rename one of the two or compile both from one .x file"};
}

}  // namespace

// Takes in a group of types. A name keeps its first type: the same type again leads to the first
// one. A different type is refused with its whole group, because the group refers to it.
Result Registry::State::admit(TableGroup& group) {
  std::map<std::string_view, const Type*> fresh;
  for (const auto& type : group.types) {
    if (type->name.empty()) continue;
    const auto known = by_name.find(type->name);
    const Type* const first = known != by_name.end()
                                  ? known->second
                                  : fresh.emplace(type->name, type.get()).first->second;
    if (!same_layout(*first, *type)) return conflict(*first, *type);
  }
  // First: what the tables below lead to stays, even if memory ends among them.
  std::move(group.types.begin(), group.types.end(), std::back_inserter(owned));
  for (const auto& [name, type] : fresh) by_name.emplace(name, type);
  for (const auto& [table, type] : group.by_table) {
    const auto named = type->name.empty() ? by_name.end() : by_name.find(type->name);
    const Type* const chosen = named == by_name.end() ? type : named->second;
    by_table.emplace(table, chosen);
    if (table->size != 0 && !type->name.empty()) tables.emplace(chosen, table);
  }
  return {};
}

Result Registry::State::read(IW_type_t table) {
  TableGroup group;
  const auto known = [this](IW_type_t other) -> const Type* {
    mutex.assert_held();
    const auto found = by_table.find(other);
    return found == by_table.end() ? nullptr : found->second;
  };
  Result result = read_table(table, known, group);
  return result.ok() ? admit(group) : result;
}

void Registry::State::read_waiting() {
  std::size_t done = 0;
  try {
    for (; done < waiting.size(); ++done) {
      IW_type_t const table = waiting[done];
      if (by_table.contains(table) || refused.contains(table)) continue;
      Result result = read(table);
      if (!result.ok()) refused.emplace(table, std::move(result));
    }
  } catch (const std::bad_alloc&) {
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(done));
    throw;
  }
  waiting.clear();
}

Registry::Registry() : state_(std::make_unique<State>()) {
  for (int number = 1; number <= 11; ++number) {
    const Type& type = primitive_type(static_cast<Primitive>(number));
    state_->by_name.emplace(type.name, &type);
  }
}

Registry::~Registry() = default;

Registry& Registry::program() {
  // Never destroyed: segments may outlive every static object.
  static auto* const registry = new Registry;
  return *registry;
}

Result Registry::add(std::span<const IW_type_t> tables) {
  Result result;
  const platform::NoForkLock lock(state_->mutex);
  for (IW_type_t table : tables) {
    if (table == nullptr || table->kind < IW_KIND_PRIMITIVE || table->kind > IW_KIND_TEXT) {
      result = {error_code::BAD_ARGUMENT,
                table == nullptr ? "a type of the table is NULL"
                                 : "type " + table_name(table) + " has an unknown kind"};
      if (table != nullptr) state_->refused.emplace(table, result);
      continue;
    }
    state_->waiting.push_back(table);
  }
  return result;
}

const Type* Registry::find(IW_type_t table, Result& why) {
  if (table == nullptr) {
    why = {error_code::BAD_ARGUMENT, "the type is NULL"};
    return nullptr;
  }
  const platform::NoForkLock lock(state_->mutex);
  state_->read_waiting();
  if (const auto found = state_->by_table.find(table); found != state_->by_table.end()) {
    return found->second;
  }
  if (const auto found = state_->refused.find(table); found != state_->refused.end()) {
    why = found->second;
    return nullptr;
  }
  if (table->kind == IW_KIND_PRIMITIVE && table->primitive >= IW_PRIMITIVE_CHAR &&
      table->primitive <= IW_PRIMITIVE_BOOL) {
    return &primitive_type(static_cast<Primitive>(table->primitive));
  }
  why = {error_code::UNKNOWN_TYPE,
         "type " + table_name(table) +
             " is not registered in this program; link the file that the compiler generated for "
             "it, or pass it to IW_register_types"};
  return nullptr;
}

IW_type_t Registry::table_of(const Type& type) {
  if (type.kind == Kind::primitive) return primitive_table(type.primitive);
  if (type.name.empty()) return nullptr;
  const Type* const known = find(type.name, type.hash);
  if (known == nullptr || !same_layout(*known, type)) return nullptr;
  const platform::NoForkLock lock(state_->mutex);
  const auto found = state_->tables.find(known);
  return found == state_->tables.end() ? nullptr : found->second;
}

void Registry::adopt(IW_type_t table) {
  const platform::NoForkLock lock(state_->mutex);
  TableGroup group;
  const auto known = [this](IW_type_t other) -> const Type* {
    state_->mutex.assert_held();
    const auto found = state_->by_table.find(other);
    return found == state_->by_table.end() ? nullptr : found->second;
  };
  if (Result read = read_table(table, known, group); !read.ok()) {
    state_->refused.emplace(table, std::move(read));
    return;
  }
  std::move(group.types.begin(), group.types.end(), std::back_inserter(state_->owned));
  state_->by_table.merge(group.by_table);
}

const Type* Registry::find(std::string_view name) {
  const platform::NoForkLock lock(state_->mutex);
  state_->read_waiting();
  const auto found = state_->by_name.find(name);
  return found == state_->by_name.end() ? nullptr : found->second;
}

const Type* Registry::find(std::string_view name, std::uint64_t hash) {
  const Type* const type = find(name);
  return type != nullptr && type->hash == hash ? type : nullptr;
}

}  // namespace iw::types
