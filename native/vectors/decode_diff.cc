// Vectors of diffs, and of values and pointers, which are put into a block by a diff.
#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "diff/format.h"
#include "diff/update.h"
#include "diff/varint.h"
#include "memory/heap.h"
#include "protocol/descriptor.gen.h"
#include "types/hash.h"
#include "vectors/copy.h"
#include "vectors/decode.h"
#include "vectors/show.h"
#include "vectors/units.h"

namespace iw::vectors {
namespace {

using diff::Tag;

struct BlockHead {
  std::uint64_t serial;
  std::uint64_t type;
  std::uint64_t count;
  std::string name;
};

void put_number(std::uint64_t value, Bytes& out) {
  std::byte number[diff::kMaxVarintBytes];
  out.insert(out.end(), number, number + diff::put_varint(value, number));
}

void put_text(const std::string& text, Bytes& out) {
  put_number(text.size(), out);
  for (const char c : text) out.push_back(static_cast<std::byte>(c));
}

void put_section(Tag tag, const Bytes& body, Bytes& out) {
  out.push_back(static_cast<std::byte>(tag));
  put_number(body.size(), out);
  out.insert(out.end(), body.begin(), body.end());
}

// A diff from 0 with everything that the context says, and these blocks and changes besides.
Bytes context_diff(const Vector& vector, std::span<const std::byte> types,
                   const std::vector<BlockHead>& more, const Bytes& changes) {
  Bytes out;
  for (const std::uint8_t byte : diff::kMagic) out.push_back(static_cast<std::byte>(byte));
  out.push_back(std::byte{0});
  put_number(0, out);
  put_number(vector.context_number("version", 0), out);
  put_section(Tag::types, Bytes(types.begin(), types.end()), out);
  Bytes slots;
  put_number(1, slots);
  for (const Json& slot : vector.context_items("slots")) put_text(slot.text, slots);
  put_section(Tag::slots, slots, out);
  Bytes blocks;
  std::uint64_t last = 0;
  const auto put_block = [&](const BlockHead& block) {
    put_number(diff::zigzag_delta(last, block.serial), blocks);
    put_number(block.type, blocks);
    put_number(block.count, blocks);
    put_text(block.name, blocks);
    last = block.serial;
  };
  for (const Json& block : vector.context_items("blocks")) {
    put_block({block.find("serial")->as_number(), block.find("type")->as_number(),
               block.find("count")->as_number(), block.find("name")->text});
  }
  for (const BlockHead& block : more) put_block(block);
  put_section(Tag::blocks, blocks, out);
  put_section(Tag::changes, changes, out);
  return out;
}

constexpr std::uint64_t kValueSerial = std::uint64_t{1} << 40;

// Puts the bytes into a block as all its units, and reads it back.
Result through_a_block(const Vector& vector, std::span<const std::byte> types, std::uint64_t type,
                       std::uint64_t count, Copy& copy, Units& units, Decoded& out) {
  const std::vector<BlockHead> value{{kValueSerial, type, count, ""}};
  Result result = copy.apply(context_diff(vector, types, value, {}));
  memory::Block block;
  if (!result.ok()) return result;
  if (!copy.heap->find(kValueSerial, block)) return Result::malformed("the block is not there");
  Bytes run;
  put_number(0, run);
  put_number(block.count * block.type->units, run);
  const Bytes data = vector.bytes();
  run.insert(run.end(), data.begin(), data.end());
  Bytes changes;
  put_number(diff::zigzag_delta(0, kValueSerial), changes);
  put_number(run.size(), changes);
  changes.insert(changes.end(), run.begin(), run.end());
  result = copy.apply(context_diff(vector, types, value, changes));
  if (!result.ok()) return result;
  if (!copy.heap->find(kValueSerial, block)) return Result::malformed("the block is not there");
  units = copy.units_of(block);
  out.bytes.emplace();
  return copy.travelling(block, *out.bytes);
}

Json blocks_shown(Copy& copy) {
  std::vector<Json> shown;
  memory::Block block;
  for (std::uint64_t at = 0; copy.heap->next_by_serial(at, block); at = block.serial) {
    shown.push_back(Json::object({{"serial", show(block.serial)},
                                  {"type", show(copy.types.serial_of(*block.type))},
                                  {"count", show(block.count)},
                                  {"name", show(copy.heap->name_of(block.serial))},
                                  {"slots", show_hex(copy.units_of(block).slots)}}));
  }
  return Json::array(std::move(shown));
}

// The receiver keeps nothing of a diff but what it does: so the meaning is repeated as far as the
// receiver can tell, and the rest is taken as it is written.
Json meaning_told(const Vector& vector, const diff::Update& update, Copy& after) {
  Json meaning = vector.json.find("meaning") == nullptr ? Json{} : *vector.json.find("meaning");
  const auto set = [&meaning](const char* name, Json value) {
    const auto at = std::find_if(meaning.members.begin(), meaning.members.end(),
                                 [name](const auto& member) { return member.name == name; });
    if (at != meaning.members.end()) at->value = std::move(value);
  };
  set("from", show(update.from()));
  set("to", show(update.to()));
  set("metadata_only", show(update.is_metadata_only()));
  set("after", blocks_shown(after));
  return meaning;
}

}  // namespace

Bytes context_diff(const Vector& vector) {
  return context_diff(vector, vector.context_types(), {}, {});
}

Result decode_value(const Vector& vector, Decoded& out) {
  Copy copy;
  Units units;
  const std::uint64_t type = vector.context_number("type", 0);
  const std::uint64_t count = vector.context_number("count", 1);
  Result result = through_a_block(vector, vector.context_types(), type, count, copy, units, out);
  out.meaning =
      Json::object({{"values", Json::array(units.values)}, {"slots", show_hex(units.slots)}});
  return result;
}

// Of a `void *`, which may lead anywhere.
Result decode_pointer(const Vector& vector, Decoded& out) {
  protocol::type_descriptor descriptor;
  descriptor.serial = protocol::FIRST_TYPE_SERIAL;
  descriptor.body.kind = protocol::type_kind::POINTER;
  types::Fnv1a hash;
  hash.u8(7);
  hash.u8(2);
  descriptor.hash = hash.value();
  std::vector<std::uint8_t> raw;
  xdr::Writer writer(raw);
  encode(writer, descriptor);
  Copy copy;
  Units units;
  Result result = through_a_block(vector, std::as_bytes(std::span(raw)), descriptor.serial, 1, copy,
                                  units, out);
  if (result.ok()) out.meaning = Json::object({{"pointer", units.values.at(0)}});
  return result;
}

Result decode_diff(const Vector& vector, Decoded& out) {
  Copy copy;
  Result result = copy.apply(context_diff(vector));
  if (!result.ok()) return result;
  const Bytes bytes = vector.bytes();
  diff::Update update;
  result = diff::Update::read(bytes, {*copy.heap, copy.types, copy.slots}, {}, update);
  const Json before = blocks_shown(copy);
  if (result.ok()) result = copy.apply(bytes);
  if (result.ok()) {
    out.meaning = meaning_told(vector, update, copy);
  } else if (!(blocks_shown(copy) == before)) {
    result = {types::error_code::INTERNAL, "a refused diff has changed the copy"};
  }
  return result;
}

}  // namespace iw::vectors
