#include "tables.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace iwpy {
namespace {

using Address = std::uintptr_t;

Address address_of(const void* pointer) { return reinterpret_cast<Address>(pointer); }
IW_type_t table_at(Address address) { return reinterpret_cast<IW_type_t>(address); }
IW_type_def* new_table_at(Address address) { return reinterpret_cast<IW_type_def*>(address); }

// ---- taken apart ----

nb::tuple arm_parts(const IW_arm_def& arm) {
  nb::list values;
  for (std::size_t i = 0; i < arm.value_count; ++i) values.append(arm.values[i]);
  return nb::make_tuple(arm.name, address_of(arm.type), arm.offset, values);
}

// The members of a table as they are; Python knows which ones a kind has.
nb::dict parts_of(Address address) {
  const IW_type_t table = table_at(address);
  nb::dict parts;
  parts["name"] = table->name;
  parts["kind"] = table->kind;
  parts["primitive"] = table->primitive;
  parts["size"] = table->size;
  parts["align"] = table->align;
  parts["element"] = address_of(table->element);
  parts["count"] = table->count;
  nb::list fields;
  for (std::size_t i = 0; i < table->field_count; ++i) {
    const IW_field_def& field = table->fields[i];
    fields.append(nb::make_tuple(field.name, address_of(field.type), field.offset));
  }
  parts["fields"] = fields;
  nb::list members;
  for (std::size_t i = 0; i < table->member_count; ++i) {
    members.append(nb::make_tuple(table->members[i].name, table->members[i].value));
  }
  parts["members"] = members;
  nb::list arms;
  for (std::size_t i = 0; i < table->arm_count; ++i) arms.append(arm_parts(table->arms[i]));
  parts["arms"] = arms;
  parts["otherwise"] = table->otherwise == nullptr ? nb::object(nb::none())
                                                   : nb::object(arm_parts(*table->otherwise));
  return parts;
}

Address laid_out(Address address) {
  return address_of(waiting_for([&] { return IW_laid_out(table_at(address)); }));
}

// ---- made ----

const char* kept(const std::string& text) { return strdup(text.c_str()); }

template <typename T>
const T* kept(const std::vector<T>& all) {
  auto* const made = new std::vector<T>(all);
  return made->data();
}

Address new_table(const std::string& name, int kind) {
  auto* const table = new IW_type_def{};
  table->name = kept(name);
  table->kind = kind;
  return address_of(table);
}

void fill_derived(Address address, Address element, std::size_t count) {
  new_table_at(address)->element = table_at(element);
  new_table_at(address)->count = count;
}

using NamedType = std::pair<std::string, Address>;

IW_field_def field_of(const NamedType& named) {
  return {kept(named.first), table_at(named.second), 0};
}

void fill_record(Address address, const std::vector<NamedType>& fields) {
  std::vector<IW_field_def> made;
  for (const NamedType& field : fields) made.push_back(field_of(field));
  new_table_at(address)->fields = kept(made);
  new_table_at(address)->field_count = made.size();
}

void fill_enum(Address address, const std::vector<std::pair<std::string, std::int32_t>>& members) {
  std::vector<IW_enum_member> made;
  for (const auto& [name, value] : members) made.push_back({kept(name), value});
  new_table_at(address)->members = kept(made);
  new_table_at(address)->member_count = made.size();
}

// A type of 0: a void arm.
using Arm = std::pair<NamedType, std::vector<std::int32_t>>;

IW_arm_def arm_of(const Arm& arm) {
  const auto& [named, values] = arm;
  return {kept(named.first), table_at(named.second), 0, kept(values), values.size()};
}

void fill_union(Address address, const NamedType& discriminant, const std::vector<Arm>& arms,
                const std::optional<Arm>& otherwise) {
  IW_type_def* const table = new_table_at(address);
  table->fields = kept(std::vector{field_of(discriminant)});
  table->field_count = 1;
  std::vector<IW_arm_def> made;
  for (const Arm& arm : arms) made.push_back(arm_of(arm));
  table->arms = kept(made);
  table->arm_count = made.size();
  if (!otherwise) return;
  IW_arm_def last = arm_of(*otherwise);
  last.values = nullptr;
  table->otherwise = kept(std::vector{last});
}

void register_types(const std::vector<Address>& addresses) {
  std::vector<IW_type_t> tables;
  for (const Address address : addresses) tables.push_back(table_at(address));
  waiting([&] { return IW_register_types(tables.data(), tables.size()); });
}

std::vector<Address> primitives() {
  std::vector<Address> all;
  for (const IW_type_t one : {IW_char, IW_uchar, IW_short, IW_ushort, IW_int, IW_uint, IW_hyper,
                              IW_uhyper, IW_float, IW_double, IW_bool}) {
    all.push_back(address_of(one));
  }
  return all;
}

}  // namespace

void bind_tables(nb::module_& module) {
  using namespace nb::literals;
  module.def("parts_of", &parts_of, "type"_a);
  module.def("laid_out", &laid_out, "type"_a);
  module.def("new_table", &new_table, "name"_a, "kind"_a);
  module.def("fill_derived", &fill_derived, "table"_a, "element"_a, "count"_a);
  module.def("fill_record", &fill_record, "table"_a, "fields"_a);
  module.def("fill_enum", &fill_enum, "table"_a, "members"_a);
  module.def("fill_union", &fill_union, "table"_a, "discriminant"_a, "arms"_a,
             "otherwise"_a.none());
  module.def("register_types", &register_types, "tables"_a);
  module.def("primitives", &primitives);
}

}  // namespace iwpy
