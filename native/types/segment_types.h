// The types of one segment, by serial and back: those that its TYPES sections give or its writers
// add. The object belongs to the segment and is guarded by its mutex. Copies share the Type
// objects. An incoming diff can therefore be checked against a copy, which then replaces the
// original.
//
// Nothing received is trusted. A descriptor is checked against every bound of [TYPE-2] and [TYPE-3]
// before it has any effect. Its layout is made by the platform's C rules, unless the program has
// registered the same type.
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

  // Adds the descriptors of one TYPES section, all or none, as committed. Descriptors of known
  // serials must agree with the known types.
  Result add_received(std::span<const protocol::type_descriptor> descriptors);

  // For a complete copy (a diff from 0): these descriptors replace all types. If they continue the
  // present types, the Type objects stay. Otherwise the old objects live until drop_replaced(), for
  // blocks that still use them.
  Result replace(std::span<const protocol::type_descriptor> descriptors);
  void drop_replaced() { replaced_.clear(); }

  // For a writer: adds a registered type and everything it refers to, if they are missing. Returns
  // the object that this segment uses for the type, or null and `why`. Additions are provisional
  // until commit().
  const Type* add(const Type& type, Result& why);

  // What add() added since the last commit or rollback, to be sent as the TYPES section.
  [[nodiscard]] std::vector<protocol::type_descriptor> uncommitted() const;
  void commit() { committed_ = types_.size(); }
  // Forgets uncommitted types. REQUIRES: no block uses them any more.
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
