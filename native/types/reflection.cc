#include "types/reflection.h"

#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "platform/mutex.h"
#include "platform/no_fork.h"
#include "types/registry.h"

namespace iw::types {

namespace {

// What the tables point at. Deques, whose elements stay where they are.
struct Storage {
  std::deque<IW_type_def> tables;
  std::deque<std::string> names;
  std::deque<std::vector<IW_field_def>> fields;
  std::deque<std::vector<IW_enum_member>> members;
  std::deque<std::vector<IW_arm_def>> arms;
  std::deque<std::vector<std::int32_t>> values;

  const char* keep(const std::string& name) { return names.emplace_back(name).c_str(); }
};

class Reflection {
 public:
  // Never destroyed, as the registry is not.
  static Reflection& program() {
    static auto* const reflection = new Reflection;
    return *reflection;
  }

  IW_type_t table_of(const Type& type) {
    const platform::NoForkLock lock(mutex_);
    being_made_.clear();
    return part(&type);
  }

 private:
  IW_type_t part(const Type* type) IW_REQUIRES(mutex_);
  IW_type_t known(const Type& type) IW_REQUIRES(mutex_);
  void fill(IW_type_def& table, const Type& type) IW_REQUIRES(mutex_);
  void fill_record(IW_type_def& table, const Type& type) IW_REQUIRES(mutex_);
  void fill_choice(IW_type_def& table, const Type& type) IW_REQUIRES(mutex_);
  void fill_enumeration(IW_type_def& table, const Type& type) IW_REQUIRES(mutex_);
  IW_arm_def arm(const Arm& from) IW_REQUIRES(mutex_);

  platform::Mutex mutex_;
  Storage storage_ IW_GUARDED_BY(mutex_);
  // By hash and name.
  std::multimap<std::pair<std::uint64_t, std::string>, IW_type_t> made_ IW_GUARDED_BY(mutex_);
  std::unordered_map<const Type*, IW_type_t> being_made_ IW_GUARDED_BY(mutex_);
};

IW_type_t Reflection::known(const Type& type) {
  if (const IW_type_t own = Registry::program().table_of(type)) return own;
  const auto [begin, end] = made_.equal_range({type.hash, type.name});
  for (auto at = begin; at != end; ++at) {
    Result why;
    const Type* const made = Registry::program().find(at->second, why);
    if (made != nullptr && same_layout(*made, type)) return at->second;
  }
  return nullptr;
}

IW_type_t Reflection::part(const Type* type) {
  if (type == nullptr) return nullptr;
  if (const auto found = being_made_.find(type); found != being_made_.end()) return found->second;
  if (const IW_type_t table = known(*type)) return table;
  const bool is_root = being_made_.empty();
  IW_type_def& table = storage_.tables.emplace_back();
  being_made_.emplace(type, &table);
  fill(table, *type);
  if (!is_root) return &table;
  // All that the root refers to is complete now, and can be read back.
  for (const auto& [made_from, made] : being_made_) {
    Registry::program().adopt(made);
    made_.emplace(std::pair{made_from->hash, made_from->name}, made);
  }
  return &table;
}

void Reflection::fill(IW_type_def& table, const Type& type) {
  table.name = storage_.keep(type.name);
  table.kind = static_cast<std::int32_t>(type.kind);
  table.primitive = static_cast<std::int32_t>(type.primitive);
  table.size = type.size_bytes;
  table.align = type.align_bytes;
  table.predecessor = type.predecessor;
  table.count = static_cast<std::size_t>(type.count);
  if (type.kind == Kind::record) return fill_record(table, type);
  if (type.kind == Kind::choice) return fill_choice(table, type);
  if (type.kind == Kind::enumeration) return fill_enumeration(table, type);
  table.element = part(type.kind == Kind::pointer ? type.target : type.element);
}

void Reflection::fill_record(IW_type_def& table, const Type& type) {
  std::vector<IW_field_def> fields;
  for (const Field& field : type.fields) {
    fields.push_back({storage_.keep(field.name), part(field.type), field.offset_bytes});
  }
  table.fields = storage_.fields.emplace_back(std::move(fields)).data();
  table.field_count = type.fields.size();
}

IW_arm_def Reflection::arm(const Arm& from) {
  const auto& values = storage_.values.emplace_back(from.values);
  return {storage_.keep(from.name), part(from.type), from.offset_bytes, values.data(),
          values.size()};
}

void Reflection::fill_choice(IW_type_def& table, const Type& type) {
  const IW_field_def discriminant{storage_.keep(type.discriminant_name), part(type.discriminant),
                                  0};
  table.fields = storage_.fields.emplace_back(1, discriminant).data();
  table.field_count = 1;
  std::vector<IW_arm_def> arms;
  for (const Arm& from : type.arms) arms.push_back(arm(from));
  table.arm_count = arms.size() - (type.has_default ? 1 : 0);
  const auto& kept = storage_.arms.emplace_back(std::move(arms));
  table.arms = kept.data();
  table.otherwise = type.has_default ? &kept.back() : nullptr;
}

void Reflection::fill_enumeration(IW_type_def& table, const Type& type) {
  std::vector<IW_enum_member> members;
  for (const Member& member : type.members) {
    members.push_back({storage_.keep(member.name), member.value});
  }
  table.members = storage_.members.emplace_back(std::move(members)).data();
  table.member_count = type.members.size();
}

}  // namespace

IW_type_t table_of(const Type& type) { return Reflection::program().table_of(type); }

IW_type_t laid_out(IW_type_t table, Result& why) {
  const Type* const type = Registry::program().find(table, why);
  return type == nullptr ? nullptr : table_of(*type);
}

}  // namespace iw::types
