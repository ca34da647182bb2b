#include "types.h"

#include <cstring>
#include <utility>
#include <vector>

namespace agent {

namespace {

// Tables live as long as the program: they are never freed.
const char* kept_text(const std::string& text) { return (new std::string(text))->c_str(); }

template <typename T>
const T* kept(std::vector<T> values) {
  return (new std::vector<T>(std::move(values)))->data();
}

std::size_t number(const Json& value) { return std::stoul(value.text); }

const Json& part(const Json& list, std::size_t index) {
  if (index >= list.items.size()) throw BadCommand("a type's description is too short");
  return list.items[index];
}

void register_table(IW_type_t table) {
  if (IW_register_types(&table, 1) != 0) throw BadCommand("the type cannot be registered");
}

}  // namespace

Types::Types() {
  for (const IW_type_t type : {IW_char, IW_uchar, IW_short, IW_ushort, IW_int, IW_uint, IW_hyper,
                               IW_uhyper, IW_float, IW_double, IW_bool}) {
    named_[type->name] = type;
  }
}

void Types::declare(const Json& list) {
  std::vector<IW_type_def*> made;
  for (const Json& description : list.items) {
    const Json* const name = description.find("name");
    if (name == nullptr) throw BadCommand("a declared type needs a name");
    made.push_back(new IW_type_def{});
    made.back()->name = kept_text(name->text);
    named_[name->text] = made.back();
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    fill(*made[i], list.items[i]);
    register_table(made[i]);
  }
}

IW_type_t Types::find(const Json& description) {
  if (description.is(Json::Kind::string)) {
    const auto found = named_.find(description.text);
    return found == named_.end() ? nullptr : found->second;
  }
  const IW_type_t made = reference(description);
  const auto [place, is_new] = anonymous_.emplace(description_of(made), made);
  if (is_new) register_table(made);
  return place->second;
}

IW_type_t Types::reference(const Json& description) {
  if (description.is(Json::Kind::string)) {
    const IW_type_t found = find(description);
    if (found == nullptr) throw BadCommand("no type " + description.text + " is declared");
    return found;
  }
  auto* const made = new IW_type_def{};
  made->name = "";
  fill(*made, description);
  return made;
}

void Types::fill(IW_type_def& made, const Json& description) {
  if (const Json* const bound = description.find("string")) {
    made.kind = IW_KIND_STRING;
    made.count = number(*bound);
  } else if (const Json* const text = description.find("text")) {
    made.kind = IW_KIND_TEXT;
    made.count = number(*text);
  } else if (const Json* const target = description.find("pointer")) {
    made.kind = IW_KIND_POINTER;
    made.element = target->is(Json::Kind::null) ? nullptr : reference(*target);
  } else if (const Json* const array = description.find("array")) {
    made.kind = IW_KIND_ARRAY;
    made.element = reference(part(*array, 0));
    made.count = number(part(*array, 1));
  } else if (const Json* const sequence = description.find("sequence")) {
    made.kind = IW_KIND_SEQUENCE;
    made.element = reference(part(*sequence, 0));
    made.count = number(part(*sequence, 1));
  } else if (const Json* const members = description.find("enum")) {
    std::vector<IW_enum_member> all;
    for (const Json& one : members->items) {
      all.push_back({kept_text(part(one, 0).text), std::stoi(part(one, 1).text)});
    }
    made.kind = IW_KIND_ENUM;
    made.member_count = all.size();
    made.members = kept(std::move(all));
  } else if (const Json* const record = description.find("record")) {
    std::vector<IW_field_def> all;
    for (const Json& one : record->items) {
      all.push_back({kept_text(part(one, 0).text), reference(part(one, 1)), 0});
    }
    made.kind = IW_KIND_RECORD;
    made.field_count = all.size();
    made.fields = kept(std::move(all));
  } else if (const Json* const choice = description.find("union")) {
    fill_union(made, *choice);
  } else {
    throw BadCommand("a type's description names no kind");
  }
}

void Types::fill_union(IW_type_def& made, const Json& body) {
  const Json* const on = body.find("on");
  const Json* const arms = body.find("arms");
  if (on == nullptr || arms == nullptr) throw BadCommand("a union needs \"on\" and \"arms\"");
  const auto arm_of = [this](const Json& one) {
    IW_arm_def arm{};
    const Json& type = part(one, 1);
    arm.name = kept_text(part(one, 0).text);
    arm.type = type.is(Json::Kind::null) ? nullptr : reference(type);
    return arm;
  };
  std::vector<IW_arm_def> all;
  for (const Json& one : arms->items) {
    IW_arm_def arm = arm_of(one);
    std::vector<int32_t> values;
    for (const Json& value : part(one, 2).items) values.push_back(std::stoi(value.text));
    arm.value_count = values.size();
    arm.values = kept(std::move(values));
    all.push_back(arm);
  }
  made.kind = IW_KIND_UNION;
  made.fields =
      kept(std::vector<IW_field_def>{{kept_text(part(*on, 0).text), reference(part(*on, 1)), 0}});
  made.field_count = 1;
  made.arm_count = all.size();
  made.arms = kept(std::move(all));
  if (const Json* const otherwise = body.find("default")) {
    made.otherwise = kept(std::vector<IW_arm_def>{arm_of(*otherwise)});
  }
}

namespace {

std::string list_of(IW_type_t element, std::size_t count) {
  return "[" + description_of(element) + "," + std::to_string(count) + "]";
}

std::string arm_text(const IW_arm_def& arm) {
  return "[" + quoted(arm.name) + "," +
         (arm.type == nullptr ? std::string("null") : description_of(arm.type));
}

std::string union_text(IW_type_t type) {
  const IW_field_def& on = type->fields[0];
  std::string text = "{\"on\":[" + quoted(on.name) + "," + description_of(on.type) + "],\"arms\":[";
  for (std::size_t i = 0; i < type->arm_count; ++i) {
    const IW_arm_def& arm = type->arms[i];
    text.append(i == 0 ? "" : ",").append(arm_text(arm)).append(",[");
    for (std::size_t v = 0; v < arm.value_count; ++v) {
      text.append(v == 0 ? "" : ",").append(std::to_string(arm.values[v]));
    }
    text += "]]";
  }
  text += "]";
  if (type->otherwise != nullptr) text += ",\"default\":" + arm_text(*type->otherwise) + "]";
  return text + "}";
}

std::string enum_text(IW_type_t type) {
  std::string text = "[";
  for (std::size_t i = 0; i < type->member_count; ++i) {
    text.append(i == 0 ? "[" : ",[").append(quoted(type->members[i].name)).append(1, ',');
    text.append(std::to_string(type->members[i].value)).append(1, ']');
  }
  return text + "]";
}

std::string record_text(IW_type_t type) {
  std::string text = "[";
  for (std::size_t i = 0; i < type->field_count; ++i) {
    text.append(i == 0 ? "[" : ",[").append(quoted(type->fields[i].name)).append(1, ',');
    text.append(description_of(type->fields[i].type)).append(1, ']');
  }
  return text + "]";
}

}  // namespace

std::string description_of(IW_type_t type) {
  if (type->name[0] != '\0') return quoted(type->name);
  switch (type->kind) {
    case IW_KIND_STRING:
      return "{\"string\":" + std::to_string(type->count) + "}";
    case IW_KIND_TEXT:
      return "{\"text\":" + std::to_string(type->count) + "}";
    case IW_KIND_POINTER:
      return "{\"pointer\":" + (type->element == nullptr ? "null" : description_of(type->element)) +
             "}";
    case IW_KIND_ARRAY:
      return "{\"array\":" + list_of(type->element, type->count) + "}";
    case IW_KIND_SEQUENCE:
      return "{\"sequence\":" + list_of(type->element, type->count) + "}";
    case IW_KIND_ENUM:
      return "{\"enum\":" + enum_text(type) + "}";
    case IW_KIND_RECORD:
      return "{\"record\":" + record_text(type) + "}";
    default:
      return "{\"union\":" + union_text(type) + "}";
  }
}

}  // namespace agent
