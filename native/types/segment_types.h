// The types of one segment: type serial <-> Type, as its TYPES sections tell them or its writers
// add them. Belongs to the segment and is guarded by its mutex.
//
// Nothing received is trusted: a descriptor is checked against every bound of [TYPE-2] and [TYPE-3]
// before it has any effect, and its layout here is made by the platform's C rules, unless the
// program has registered the same type. Additions are provisional until commit().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
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
  SegmentTypes(SegmentTypes&&) = default;
  SegmentTypes& operator=(SegmentTypes&&) = default;

  // Primitives too. Null: the segment has no such type.
  [[nodiscard]] const Type* find(std::uint32_t serial) const;
  [[nodiscard]] const Type* find(std::string_view name) const;
  // The serial of the same type, 0 if the segment does not have it.
  [[nodiscard]] std::uint32_t serial_of(const Type& type) const;
  [[nodiscard]] std::uint32_t next_serial() const;

  // Descriptors of one TYPES section. All or none.
  Result add_received(std::span<const protocol::type_descriptor> descriptors);

  // For a writer: makes sure that the segment has the type and everything it refers to, and gives
  // the object to use in this segment, or null and `why`.
  const Type* add(const Type& type, Result& why);

  // What add() added since the last commit or rollback, to be sent as the TYPES section.
  [[nodiscard]] std::span<const protocol::type_descriptor> uncommitted() const;
  void commit();
  // Forgets what is not committed; no block may use it any more.
  void rollback();

  // For a complete copy (a diff from 0): these descriptors replace all types; those that agree keep
  // their objects. Objects that go stay alive until drop_replaced(), for blocks that use them.
  Result replace(std::span<const protocol::type_descriptor> descriptors);

 private:
  Registry* registry_;
};

}  // namespace iw::types
