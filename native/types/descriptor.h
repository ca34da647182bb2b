// Converts descriptors (spec/protocol/descriptor.x) to types and back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "protocol/descriptor.gen.h"
#include "types/registry.h"
#include "types/result.h"
#include "types/type.h"

namespace iw::types {

// The types of a list of descriptors: one for each; some are the program's own.
struct DescriptorGroup {
  std::vector<const Type*> types;
  std::vector<std::shared_ptr<const Type>> owned;
};

// Checks and builds descriptors with the serials first, first + 1, ... `known` gives the types of
// lower serials, primitives included. After a failure nothing has changed.
Result read_descriptors(std::span<const protocol::type_descriptor> descriptors, std::uint32_t first,
                        const std::function<const Type*(std::uint32_t)>& known, Registry& registry,
                        DescriptorGroup& out);

protocol::type_descriptor describe(const Type& type, std::uint32_t serial,
                                   const std::function<std::uint32_t(const Type&)>& serial_of);

}  // namespace iw::types
