// The types of one segment: type serial <-> Type, as its TYPES sections tell them or its writers
// add them. Belongs to the segment and is guarded by its mutex. A copy shares the Type objects, so
// that an incoming diff is checked against a copy, which then takes the place of the original.
//
// Nothing received is trusted: a descriptor is checked against every bound of [TYPE-2] and [TYPE-3]
// before it has any effect, and its layout here is made by the platform's C rules, unless the
// program has registered the same type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "protocol/descriptor.gen.h"
#include "types/registry.h"
#include "types/result.h"
#include "types/type.h"

namespace iw::types {

class SegmentTypes {
 public:
  explicit SegmentTypes(Registry& registry = Registry::program()) : registry_(&registry) {}

  // Primitives too. Null: the segment has no such type.
  [[nodiscard]] const Type* find(std::uint32_t serial) const;
  [[nodiscard]] const Type* find(std::string_view name) const;
  // The serial of the same type, 0 if the segment does not have it.
  [[nodiscard]] std::uint32_t serial_of(const Type& type) const;
  [[nodiscard]] std::uint32_t next_serial() const;

  // The descriptors of one TYPES section; those of serials that are known already must agree. All
  // or none; what is added is committed.
  Result add_received(std::span<const protocol::type_descriptor> descriptors);

  // For a complete copy (a diff from 0): these descriptors replace all types. If they continue the
  // present ones the Type objects stay the same; if not, the old objects live on until
  // drop_replaced(), for blocks that still use them.
  Result replace(std::span<const protocol::type_descriptor> descriptors);
  void drop_replaced() { replaced_.clear(); }

  // For a writer: makes sure that the segment has a registered type and everything it refers to.
  // Gives the object that this segment uses for it; null and `why` otherwise. Additions are
  // provisional until commit().
  const Type* add(const Type& type, Result& why);

  // What add() added since the last commit or rollback, to be sent as the TYPES section.
  [[nodiscard]] std::vector<protocol::type_descriptor> uncommitted() const;
  void commit() { committed_ = types_.size(); }
  // Forgets what is not committed; no block may use it any more.
  void rollback() { truncate(committed_); }

 private:
  friend class SegmentTypesWriter;
  void append(const Type& type);
  void truncate(std::size_t count);

  Registry* registry_;
  std::vector<const Type*> types_;  // of serials from FIRST_TYPE_SERIAL on
  std::size_t committed_ = 0;
  std::vector<std::shared_ptr<const Type>> owned_;  // those that were received
  std::vector<std::shared_ptr<const Type>> replaced_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
  std::map<std::string, std::uint32_t, std::less<>> by_name_;
};

}  // namespace iw::types
