#include "types/hash.h"

#include <unordered_map>

#include "platform/byte_order.h"

namespace iw::types {

void Fnv1a::bytes(const void* from, std::size_t count) {
  const auto* p = static_cast<const unsigned char*>(from);
  for (std::size_t i = 0; i < count; ++i) state_ = (state_ ^ p[i]) * 1099511628211U;
}

void Fnv1a::u32(std::uint32_t value) {
  unsigned char out[4];
  platform::store_little_endian(out, value);
  bytes(out, sizeof out);
}

void Fnv1a::u64(std::uint64_t value) {
  unsigned char out[8];
  platform::store_little_endian(out, value);
  bytes(out, sizeof out);
}

void Fnv1a::text(std::string_view value) {
  u32(static_cast<std::uint32_t>(value.size()));
  bytes(value.data(), value.size());
}

namespace {

// Hashes what a type needs before the type itself: only unnamed targets lead out of order.
class Group {
 public:
  explicit Group(std::span<Type* const> group) {
    for (Type* type : group) states_.emplace(type, State::waiting);
  }

  bool hash(Type* type, std::uint32_t depth);

 private:
  enum class State { waiting, under_way, done };

  bool ready(const Type* part, std::uint32_t depth) {
    const auto found = states_.find(part);
    if (found == states_.end() || found->second == State::done) return true;
    return hash(const_cast<Type*>(part), depth + 1);
  }
  bool parts_ready(const Type& type, std::uint32_t depth);

  std::unordered_map<const Type*, State> states_;
};

void put_target(Fnv1a& out, const Type* target) {
  if (target == nullptr) {
    out.u8(2);
  } else if (!target->name.empty()) {
    out.u8(1);
    out.text(target->name);
  } else {
    out.u8(0);
    out.u64(target->hash);
  }
}

void put_arm(Fnv1a& out, const Arm& arm) {
  out.text(arm.name);
  out.u64(arm.type == nullptr ? 0 : arm.type->hash);
  out.u32(static_cast<std::uint32_t>(arm.values.size()));
  for (const std::int32_t value : arm.values) out.u32(static_cast<std::uint32_t>(value));
}

void put_choice(Fnv1a& out, const Type& type) {
  out.text(type.discriminant_name);
  out.u64(type.discriminant->hash);
  const std::size_t plain = type.arms.size() - (type.has_default ? 1 : 0);
  out.u32(static_cast<std::uint32_t>(plain));
  for (std::size_t i = 0; i < plain; ++i) put_arm(out, type.arms[i]);
  out.u8(type.has_default ? 1 : 0);
  if (type.has_default) put_arm(out, type.arms.back());
}

}  // namespace

std::uint64_t structure_hash(const Type& type) {
  Fnv1a out;
  out.u8(static_cast<std::uint8_t>(type.kind));
  switch (type.kind) {
    case Kind::primitive:
      out.u8(static_cast<std::uint8_t>(type.primitive));
      break;
    case Kind::enumeration:
      out.u32(static_cast<std::uint32_t>(type.members.size()));
      for (const Member& member : type.members) {
        out.text(member.name);
        out.u32(static_cast<std::uint32_t>(member.value));
      }
      break;
    case Kind::string:
    case Kind::text:
      out.u32(static_cast<std::uint32_t>(type.count));
      break;
    case Kind::array:
      out.u64(type.element->hash);
      out.u32(static_cast<std::uint32_t>(type.count));
      break;
    case Kind::record:
      out.u32(static_cast<std::uint32_t>(type.fields.size()));
      for (const Field& field : type.fields) {
        out.text(field.name);
        out.u64(field.type->hash);
      }
      break;
    case Kind::choice:
      put_choice(out, type);
      break;
    case Kind::pointer:
      put_target(out, type.target);
      break;
    case Kind::sequence:
      out.u32(static_cast<std::uint32_t>(type.count));
      put_target(out, type.element);
      break;
  }
  return out.value();
}

namespace {

bool Group::parts_ready(const Type& type, std::uint32_t depth) {
  switch (type.kind) {
    case Kind::pointer:
      return type.target == nullptr || !type.target->name.empty() || ready(type.target, depth);
    case Kind::sequence:
      return !type.element->name.empty() || ready(type.element, depth);
    case Kind::array:
      return ready(type.element, depth);
    case Kind::record:
      for (const Field& field : type.fields) {
        if (!ready(field.type, depth)) return false;
      }
      return true;
    case Kind::choice:
      for (const Arm& arm : type.arms) {
        if (arm.type != nullptr && !ready(arm.type, depth)) return false;
      }
      return ready(type.discriminant, depth);
    default:
      return true;
  }
}

bool Group::hash(Type* type, std::uint32_t depth) {
  State& state = states_.at(type);  // references stay valid: nothing is inserted any more
  if (state == State::done) return true;
  if (state == State::under_way || depth > 2 * kMaxDepth) return false;
  state = State::under_way;
  if (!parts_ready(*type, depth)) return false;
  type->hash = structure_hash(*type);
  state = State::done;
  return true;
}

}  // namespace

bool hash_group(std::span<Type* const> group) {
  Group hashing(group);
  for (Type* type : group) {
    if (!hashing.hash(type, 0)) return false;
  }
  return true;
}

}  // namespace iw::types
