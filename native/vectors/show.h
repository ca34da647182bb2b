// What XDR bytes mean, as the JSON of the vectors: members named as in the .x files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "protocol/descriptor.gen.h"
#include "protocol/field.gen.h"
#include "protocol/log.gen.h"
#include "protocol/session.gen.h"
#include "types/result.h"
#include "vectors/json.h"

namespace iw::vectors {

// Numbers that not every JSON reader holds exactly are strings.
Json show(std::uint64_t value);
Json show(std::int64_t value);
inline Json show(std::uint32_t value) { return show(std::uint64_t{value}); }
inline Json show(std::int32_t value) { return show(std::int64_t{value}); }
Json show(double value);
Json show(float value);
inline Json show(bool value) { return Json::boolean(value); }
inline Json show(const std::string& value) { return Json::string(value); }

Json show_hex(std::span<const std::byte> bytes);
Json show_hash(std::uint64_t hash);

Json show(const protocol::type_body& body);
Json show(const protocol::checkpoint_head& head);

// What each field of a list says; MALFORMED as the client's readers say it.
types::Result show_fields(std::span<const protocol::header_field> list, Json& out);

// The body of a message: what it means, and what that is written as.
types::Result show_body(std::int32_t type, std::span<const std::byte> bytes, Json& out,
                        std::vector<std::uint8_t>& again);

}  // namespace iw::vectors
