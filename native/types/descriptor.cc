#include "types/descriptor.h"

#include <unordered_map>
#include <utility>

#include "types/construction.h"
#include "types/hash.h"

namespace iw::types {

namespace {

using protocol::type_descriptor;
using protocol::type_kind;

class DescriptorReader {
 public:
  DescriptorReader(std::span<const type_descriptor> descriptors, std::uint32_t first,
                   const std::function<const Type*(std::uint32_t)>& known)
      : descriptors_(descriptors), first_(first), known_(known) {}

  // Structure and hash of each.
  Result read();
  // The program's own types take the place of those read; the others are laid out.
  Result settle(Registry& registry, DescriptorGroup& out);

 private:
  bool fill(Type& type, const type_descriptor& from);
  bool fill_choice(Type& type, const protocol::union_body& from);
  // Embedded: of a lower serial than the one being read.
  const Type* part(std::uint32_t serial) {
    return serial < first_ + reading_ ? any(serial) : nullptr;
  }
  const Type* any(std::uint32_t serial) {
    if (serial < first_) return known_(serial);
    return serial - first_ < types_.size() ? types_[serial - first_].get() : nullptr;
  }
  void use_final_parts(Type& type);
  const Type* settled(const Type* type) const {
    const auto found = final_.find(type);
    return found == final_.end() ? type : found->second;
  }

  std::span<const type_descriptor> descriptors_;
  std::uint32_t first_;
  const std::function<const Type*(std::uint32_t)>& known_;
  std::vector<std::shared_ptr<Type>> types_;
  std::size_t reading_ = 0;
  std::unordered_map<const Type*, const Type*> final_;
};

std::string described(const type_descriptor& descriptor) {
  return "type descriptor " + std::to_string(descriptor.serial) +
         (descriptor.name.empty() ? "" : " (" + descriptor.name + ")");
}

Result refused(const type_descriptor& descriptor, const std::string& why) {
  return Result::malformed(described(descriptor) + " is refused: " + why);
}

bool DescriptorReader::fill_choice(Type& type, const protocol::union_body& from) {
  type.discriminant_name = from.discriminant;
  type.discriminant = part(from.discriminant_type);
  const auto add = [&](const protocol::union_arm& arm) {
    const Type* const inner = arm.type == 0 ? nullptr : part(arm.type);
    type.arms.push_back({arm.name, inner, 0, arm.values});
    return arm.type == 0 || inner != nullptr;
  };
  if (type.discriminant == nullptr) return false;
  for (const protocol::union_arm& arm : from.arms) {
    if (!add(arm)) return false;
  }
  type.has_default = from.otherwise != nullptr;
  return !type.has_default || add(*from.otherwise);
}

// False: a reference leads to no type that may be referred to.
bool DescriptorReader::fill(Type& type, const type_descriptor& from) {
  const protocol::type_body& body = from.body;
  switch (body.kind) {
    case type_kind::PRIMITIVE:
      return false;
    case type_kind::ENUM:
      for (const protocol::enum_member& member : body.members) {
        type.members.push_back({member.name, member.value});
      }
      return true;
    case type_kind::STRING:
      type.count = body.bound;
      return true;
    case type_kind::ARRAY:
      type.element = part(body.array.element);
      type.count = body.array.count;
      return type.element != nullptr;
    case type_kind::RECORD:
      for (const protocol::field& field : body.fields) {
        const Type* const inner = part(field.type);
        if (inner == nullptr) return false;
        type.fields.push_back({field.name, inner, 0, 0, 0});
      }
      return true;
    case type_kind::UNION:
      return fill_choice(type, body.choice);
    case type_kind::POINTER:
      type.target = body.target == 0 ? nullptr : any(body.target);
      return body.target == 0 || type.target != nullptr;
    case type_kind::SEQUENCE:
      type.element = any(body.sequence.element);
      type.count = body.sequence.bound;
      return type.element != nullptr;
    case type_kind::TEXT:
      type.count = body.text_bound;
      return true;
  }
  return false;
}

Result DescriptorReader::read() {
  for (std::size_t i = 0; i < descriptors_.size(); ++i) {
    if (descriptors_[i].serial != first_ + i) {
      return refused(descriptors_[i], "the next serial is " + std::to_string(first_ + i));
    }
    types_.push_back(std::make_shared<Type>());
    // Pointers to types that follow ask for name and hash.
    Type& type = *types_.back();
    type.name = descriptors_[i].name;
    type.hash = descriptors_[i].hash;
    type.kind = static_cast<Kind>(descriptors_[i].body.kind);
    type.predecessor = descriptors_[i].predecessor;
  }
  for (reading_ = 0; reading_ < types_.size(); ++reading_) {
    Type& type = *types_[reading_];
    const type_descriptor& from = descriptors_[reading_];
    if (!fill(type, from)) return refused(from, "it refers to a type that is not there");
    const std::string why = finish_structure(type);
    if (!why.empty()) return refused(from, why);
  }
  // Each is checked against what the others say theirs are, so that nothing recurses.
  for (std::size_t i = 0; i < types_.size(); ++i) {
    if (structure_hash(*types_[i]) != descriptors_[i].hash) {
      return refused(descriptors_[i], "its hash is not that of its structure");
    }
  }
  return {};
}

void DescriptorReader::use_final_parts(Type& type) {
  type.element = settled(type.element);
  type.target = settled(type.target);
  type.discriminant = settled(type.discriminant);
  for (Field& field : type.fields) field.type = settled(field.type);
  for (Arm& arm : type.arms) arm.type = settled(arm.type);
}

Result DescriptorReader::settle(Registry& registry, DescriptorGroup& out) {
  for (const auto& type : types_) {
    if (type->name.empty()) continue;
    const Type* const own = registry.find(type->name, type->hash);
    if (own == nullptr) continue;
    if (own->kind != type->kind || own->units != type->units ||
        own->slot_bytes != type->slot_bytes) {
      return Result::malformed("type " + type->name + " has a forged hash");
    }
    final_.emplace(type.get(), own);
  }
  for (const auto& type : types_) {
    const Type* const chosen = settled(type.get());
    out.types.push_back(chosen);
    if (chosen != type.get()) continue;
    use_final_parts(*type);
    if (!lay_out(*type)) {
      return {error_code::TOO_LARGE,
              "a value of type " + type->spelled() + " does not fit in this machine's memory"};
    }
    compile_plan(*type);
    out.owned.push_back(type);
  }
  return {};
}

}  // namespace

Result read_descriptors(std::span<const type_descriptor> descriptors, std::uint32_t first,
                        const std::function<const Type*(std::uint32_t)>& known, Registry& registry,
                        DescriptorGroup& out) {
  DescriptorReader reader(descriptors, first, known);
  Result result = reader.read();
  return result.ok() ? reader.settle(registry, out) : result;
}

namespace {

protocol::union_arm describe_arm(const Arm& arm,
                                 const std::function<std::uint32_t(const Type&)>& serial_of) {
  return {arm.name, arm.type == nullptr ? 0 : serial_of(*arm.type), arm.values};
}

}  // namespace

type_descriptor describe(const Type& type, std::uint32_t serial,
                         const std::function<std::uint32_t(const Type&)>& serial_of) {
  type_descriptor out;
  out.serial = serial;
  out.name = type.name;
  out.hash = type.hash;
  out.predecessor = type.predecessor;
  protocol::type_body& body = out.body;
  body.kind = static_cast<type_kind>(type.kind);
  const auto bound = static_cast<std::uint32_t>(type.count);
  switch (type.kind) {
    case Kind::primitive:
      break;
    case Kind::enumeration:
      for (const Member& member : type.members) body.members.push_back({member.name, member.value});
      break;
    case Kind::string:
      body.bound = bound;
      break;
    case Kind::array:
      body.array = {serial_of(*type.element), bound};
      break;
    case Kind::record:
      for (const Field& field : type.fields) {
        body.fields.push_back({field.name, serial_of(*field.type)});
      }
      break;
    case Kind::choice:
      body.choice.discriminant = type.discriminant_name;
      body.choice.discriminant_type = serial_of(*type.discriminant);
      for (const Arm& arm : type.arms) body.choice.arms.push_back(describe_arm(arm, serial_of));
      if (type.has_default) {
        body.choice.otherwise =
            std::make_unique<protocol::union_arm>(std::move(body.choice.arms.back()));
        body.choice.arms.pop_back();
      }
      break;
    case Kind::pointer:
      body.target = type.target == nullptr ? 0 : serial_of(*type.target);
      break;
    case Kind::sequence:
      body.sequence = {serial_of(*type.element), bound};
      break;
    case Kind::text:
      body.text_bound = bound;
      break;
  }
  return out;
}

}  // namespace iw::types
