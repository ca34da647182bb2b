#include "types/segment_types.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

#include "types/descriptor.h"

namespace iw::types {

namespace {

constexpr std::uint32_t kFirst = protocol::FIRST_TYPE_SERIAL;

Result name_conflict(const std::string& name) {
  return {error_code::TYPE_CONFLICT,
          "type " + name +
              " exists in the segment with another structure; rename the new one, or use a new "
              "segment"};
}

Result program_conflict(const std::string& name) {
  return {error_code::TYPE_CONFLICT,
          "the segment's type " + name +
              " has another structure than the one this program was compiled with; compile both "
              "from one .x file, or rename one of the two"};
}

}  // namespace

const Type* SegmentTypes::find(std::uint32_t serial) const {
  if (serial >= 1 && serial <= 11) return &primitive_type(static_cast<Primitive>(serial));
  return serial >= kFirst && serial - kFirst < types_.size() ? types_[serial - kFirst] : nullptr;
}

const Type* SegmentTypes::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : find(found->second);
}

std::uint32_t SegmentTypes::serial_of(const Type& type) const {
  if (type.kind == Kind::primitive) return static_cast<std::uint32_t>(type.primitive);
  std::uint32_t lowest = 0;
  const auto [begin, end] = by_hash_.equal_range(type.hash);
  for (auto at = begin; at != end; ++at) {
    if (find(at->second)->name != type.name) continue;
    if (lowest == 0 || at->second < lowest) lowest = at->second;
  }
  return lowest;
}

std::uint32_t SegmentTypes::next_serial() const {
  return kFirst + static_cast<std::uint32_t>(types_.size());
}

void SegmentTypes::append(const Type& type) {
  const std::uint32_t serial = next_serial();
  types_.push_back(&type);
  by_hash_.emplace(type.hash, serial);
  if (!type.name.empty()) by_name_.emplace(type.name, serial);
}

void SegmentTypes::truncate(std::size_t count) {
  while (types_.size() > count) {
    const Type& type = *types_.back();
    types_.pop_back();
    const std::uint32_t serial = next_serial();
    const auto [begin, end] = by_hash_.equal_range(type.hash);
    const auto entry =
        std::find_if(begin, end, [serial](const auto& one) { return one.second == serial; });
    if (entry != end) by_hash_.erase(entry);
    const auto named = by_name_.find(type.name);
    if (named != by_name_.end() && named->second == serial) by_name_.erase(named);
  }
}

Result SegmentTypes::add_received(std::span<const protocol::type_descriptor> descriptors) {
  while (!descriptors.empty() && descriptors[0].serial < next_serial()) {
    const Type* const known = find(descriptors[0].serial);
    if (known == nullptr || known->kind == Kind::primitive || known->name != descriptors[0].name ||
        known->hash != descriptors[0].hash) {
      return Result::malformed("type descriptor " + std::to_string(descriptors[0].serial) +
                               " is not the one that the segment has");
    }
    descriptors = descriptors.subspan(1);
  }
  if (descriptors.size() > protocol::MAX_TYPES - types_.size()) {
    return Result::malformed("a segment has at most 65,535 types");
  }
  DescriptorGroup group;
  Result result = read_descriptors(
      descriptors, next_serial(), [this](std::uint32_t serial) { return find(serial); }, *registry_,
      group);
  if (!result.ok()) return result;
  const std::size_t before = types_.size();
  for (const Type* type : group.types) {
    const Type* const namesake = type->name.empty() ? nullptr : find(type->name);
    if (namesake != nullptr && namesake->hash != type->hash) {
      truncate(before);
      return name_conflict(type->name);
    }
    const Type* const own = type->name.empty() ? nullptr : registry_->find(type->name);
    if (own != nullptr && own->hash != type->hash) {
      truncate(before);
      return program_conflict(type->name);
    }
    append(*type);
  }
  std::move(group.owned.begin(), group.owned.end(), std::back_inserter(owned_));
  commit();
  return {};
}

Result SegmentTypes::replace(std::span<const protocol::type_descriptor> descriptors) {
  bool continues = descriptors.size() >= types_.size();
  for (std::size_t i = 0; continues && i < types_.size(); ++i) {
    continues = descriptors[i].serial == kFirst + i && descriptors[i].hash == types_[i]->hash &&
                descriptors[i].name == types_[i]->name;
  }
  if (continues) return add_received(descriptors);
  SegmentTypes fresh(*registry_);
  Result result = fresh.add_received(descriptors);
  if (!result.ok()) return result;
  fresh.replaced_ = std::move(replaced_);
  std::move(owned_.begin(), owned_.end(), std::back_inserter(fresh.replaced_));
  *this = std::move(fresh);
  return {};
}

// Adds a type and all that it leads to: what is embedded first, what pointers lead to afterwards.
class SegmentTypesWriter {
 public:
  explicit SegmentTypesWriter(SegmentTypes& types) : types_(types) {}

  Result add(const Type& type) {
    targets_.push_back(&type);
    while (!targets_.empty()) {
      const Type* const next = targets_.front();
      targets_.pop_front();
      if (!add_one(*next)) return error_;
    }
    return {};
  }

 private:
  // At most kMaxDepth deep.
  bool add_one(const Type& type);
  bool add_parts(const Type& type);
  bool check_known(const Type& known, const Type& type);

  SegmentTypes& types_;
  std::deque<const Type*> targets_;
  Result error_;
};

bool SegmentTypesWriter::check_known(const Type& known, const Type& type) {
  if (same_layout(known, type)) return true;
  error_ = {error_code::TYPE_CONFLICT,
            "type " + type.spelled() +
                " came with the segment before the program registered it, and the program's "
                "compiler lays it out differently; register it before the segment is opened"};
  return false;
}

bool SegmentTypesWriter::add_parts(const Type& type) {
  if (type.kind == Kind::array) return add_one(*type.element);
  for (const Field& field : type.fields) {
    if (!add_one(*field.type)) return false;
  }
  if (type.discriminant != nullptr && !add_one(*type.discriminant)) return false;
  for (const Arm& arm : type.arms) {
    if (arm.type != nullptr && !add_one(*arm.type)) return false;
  }
  return true;
}

bool SegmentTypesWriter::add_one(const Type& type) {
  if (type.kind == Kind::primitive) return true;
  if (const std::uint32_t serial = types_.serial_of(type); serial != 0) {
    return check_known(*types_.find(serial), type);
  }
  if (!type.name.empty() && types_.find(type.name) != nullptr) {
    error_ = name_conflict(type.name);
    return false;
  }
  if (!add_parts(type)) return false;
  if (types_.types_.size() == protocol::MAX_TYPES) {
    error_ = {error_code::TOO_LARGE, "a segment has at most 65,535 types"};
    return false;
  }
  types_.append(type);
  if (type.kind == Kind::pointer && type.target != nullptr) targets_.push_back(type.target);
  if (type.kind == Kind::sequence) targets_.push_back(type.element);
  return true;
}

const Type* SegmentTypes::add(const Type& type, Result& why) {
  const std::size_t before = types_.size();
  why = or_no_memory([&] { return SegmentTypesWriter(*this).add(type); });
  if (why.ok()) return find(serial_of(type));
  truncate(before);
  return nullptr;
}

std::vector<protocol::type_descriptor> SegmentTypes::uncommitted() const {
  std::vector<protocol::type_descriptor> out;
  for (std::size_t i = committed_; i < types_.size(); ++i) {
    out.push_back(describe(*types_[i], kFirst + static_cast<std::uint32_t>(i),
                           [this](const Type& part) { return serial_of(part); }));
  }
  return out;
}

}  // namespace iw::types
