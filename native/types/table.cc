#include "types/table.h"

#include <array>
#include <deque>
#include <utility>

#include "types/construction.h"
#include "types/hash.h"

namespace iw::types {

IW_type_t primitive_table(Primitive primitive) {
  constexpr std::array<IW_type_t, 11> tables = {
      &IW_def_char,  &IW_def_uchar,  &IW_def_short, &IW_def_ushort, &IW_def_int, &IW_def_uint,
      &IW_def_hyper, &IW_def_uhyper, &IW_def_float, &IW_def_double, &IW_def_bool};
  return tables.at(static_cast<std::size_t>(primitive) - 1);
}

std::string table_name(IW_type_t table) {
  if (table->name != nullptr && *table->name != '\0') return table->name;
  return "unnamed type of kind " + std::to_string(table->kind);
}

namespace {

Result refused(IW_type_t table, const std::string& why) {
  return {error_code::BAD_ARGUMENT,
          "type " + table_name(table) + " cannot be used: " + why +
              "; generate its table again with this version of the compiler and compile it with "
              "the flags of the library"};
}

class TableReader {
 public:
  TableReader(const std::function<const Type*(IW_type_t)>& known, TableGroup& out)
      : known_(known), out_(out) {}

  Result read(IW_type_t root);

 private:
  Type* begin(IW_type_t table, std::uint32_t depth);
  const Type* part(IW_type_t table, std::uint32_t depth);
  bool fill(Type& type, IW_type_t table, std::uint32_t depth);
  static std::string place(Type& type, IW_type_t table);
  bool fill_choice(Type& type, IW_type_t table, std::uint32_t depth);
  bool add_arm(Type& type, const IW_arm_def& arm, std::uint32_t depth);
  const Type* leaf(IW_type_t table);
  bool resolve_targets();
  bool fail(IW_type_t table, const std::string& why) {
    if (error_.ok()) error_ = refused(table, why);
    return false;
  }

  const std::function<const Type*(IW_type_t)>& known_;
  TableGroup& out_;
  Result error_;
  // Pointers and sequences whose targets are read after them.
  std::deque<std::pair<Type*, IW_type_t>> awaiting_target_;
};

// The types that are complete: of this group, of an earlier one, or primitives.
const Type* TableReader::leaf(IW_type_t table) {
  if (const auto found = out_.by_table.find(table); found != out_.by_table.end()) {
    return found->second;
  }
  if (const Type* type = known_(table)) return type;
  if (table->kind != IW_KIND_PRIMITIVE) return nullptr;
  if (table->primitive < IW_PRIMITIVE_CHAR || table->primitive > IW_PRIMITIVE_BOOL) return nullptr;
  const Type& type = primitive_type(static_cast<Primitive>(table->primitive));
  return table->size == type.size_bytes && table->align == type.align_bytes ? &type : nullptr;
}

const Type* TableReader::part(IW_type_t table, std::uint32_t depth) {
  if (table == nullptr) return nullptr;
  if (const Type* type = leaf(table)) return type;
  return begin(table, depth);
}

Type* TableReader::begin(IW_type_t table, std::uint32_t depth) {
  if (depth > kMaxDepth) {
    fail(table, "it is embedded more than 64 deep, or in itself");
    return nullptr;
  }
  if (table->kind <= IW_KIND_PRIMITIVE || table->kind > IW_KIND_TEXT) {
    fail(table, "its kind is not known");
    return nullptr;
  }
  auto type = std::make_unique<Type>();
  type->name = table->name == nullptr ? "" : table->name;
  type->kind = static_cast<Kind>(table->kind);
  type->predecessor = table->predecessor;
  type->count = table->count;
  if (!fill(*type, table, depth)) return nullptr;
  std::string why = finish_structure(*type);
  if (why.empty()) why = place(*type, table);
  if (!why.empty()) {
    fail(table, why);
    return nullptr;
  }
  Type* const made = type.get();
  out_.by_table.emplace(table, made);
  out_.types.push_back(std::move(type));
  return made;
}

// As the table says, or, where it says nothing, by the platform's C rules.
std::string TableReader::place(Type& type, IW_type_t table) {
  if (table->size == 0) return lay_out(type) ? "" : "it does not fit this machine's memory";
  type.size_bytes = table->size;
  type.align_bytes = table->align;
  return check_layout(type);
}

bool TableReader::fill(Type& type, IW_type_t table, std::uint32_t depth) {
  switch (type.kind) {
    case Kind::enumeration:
      for (std::size_t i = 0; i < table->member_count; ++i) {
        type.members.push_back({table->members[i].name, table->members[i].value});
      }
      return true;
    case Kind::array:
      type.element = part(table->element, depth + 1);
      return type.element != nullptr || fail(table, "its element's table is missing or wrong");
    case Kind::record:
      for (std::size_t i = 0; i < table->field_count; ++i) {
        const IW_field_def& from = table->fields[i];
        const Type* const inner = part(from.type, depth + 1);
        if (inner == nullptr) {
          return fail(table,
                      std::string("the table of field ") + from.name + " is missing or wrong");
        }
        type.fields.push_back({from.name, inner, from.offset, 0, 0});
      }
      return true;
    case Kind::choice:
      return fill_choice(type, table, depth);
    case Kind::sequence:
      if (table->element == nullptr) return fail(table, "its element's table is missing");
      [[fallthrough]];
    case Kind::pointer:
      if (table->element != nullptr) awaiting_target_.emplace_back(&type, table->element);
      return true;
    default:
      return true;
  }
}

bool TableReader::add_arm(Type& type, const IW_arm_def& from, std::uint32_t depth) {
  const Type* const inner = part(from.type, depth + 1);
  if (from.type != nullptr && inner == nullptr) return false;
  type.arms.push_back(
      {from.name, inner, from.offset, {from.values, from.values + from.value_count}});
  return true;
}

bool TableReader::fill_choice(Type& type, IW_type_t table, std::uint32_t depth) {
  if (table->field_count != 1 || table->fields[0].offset != 0) {
    return fail(table, "a union's table has its discriminant first");
  }
  type.discriminant_name = table->fields[0].name;
  type.discriminant = part(table->fields[0].type, depth + 1);
  if (type.discriminant == nullptr) return fail(table, "its discriminant's table is wrong");
  for (std::size_t i = 0; i < table->arm_count; ++i) {
    if (!add_arm(type, table->arms[i], depth)) return fail(table, "an arm's table is wrong");
  }
  type.has_default = table->otherwise != nullptr;
  return table->otherwise == nullptr || add_arm(type, *table->otherwise, depth) ||
         fail(table, "its default arm's table is wrong");
}

bool TableReader::resolve_targets() {
  while (!awaiting_target_.empty()) {
    const auto [type, table] = awaiting_target_.front();
    awaiting_target_.pop_front();
    const Type* const target = part(table, 0);
    if (target == nullptr) return fail(table, "its table is wrong");
    (type->kind == Kind::pointer ? type->target : type->element) = target;
  }
  return true;
}

Result TableReader::read(IW_type_t root) {
  if (part(root, 0) == nullptr || !resolve_targets()) {
    fail(root, "its table is wrong");
    return error_;
  }
  std::vector<Type*> group;
  for (const auto& type : out_.types) group.push_back(type.get());
  if (!hash_group(group)) return refused(root, "unnamed pointers in it lead back to themselves");
  for (Type* type : group) compile_plan(*type);
  return {};
}

}  // namespace

Result read_table(IW_type_t root, const std::function<const Type*(IW_type_t)>& known,
                  TableGroup& out) {
  return TableReader(known, out).read(root);
}

}  // namespace iw::types
