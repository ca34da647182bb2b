#include "vectors/decode.h"

#include <cstring>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "diff/varint.h"
#include "protocol/descriptor.gen.h"
#include "protocol/log.gen.h"
#include "protocol/session.gen.h"
#include "session/frame_reader.h"
#include "session/frame_writer.h"
#include "types/descriptor.h"
#include "types/hash.h"
#include "types/mip.h"
#include "types/registry.h"
#include "types/segment_types.h"
#include "vectors/show.h"

namespace iw::vectors {
namespace {

Bytes as_bytes(const std::vector<std::uint8_t>& raw) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(raw));
  return {bytes.begin(), bytes.end()};
}

xdr::Reader xdr_reader(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

Result varint(const Vector& vector, Decoded& out) {
  const Bytes bytes = vector.bytes();
  diff::Reader reader(bytes);
  std::uint64_t value = 0;
  if (!reader.varint(value) || reader.remaining() != 0) return Result::malformed("no varint");
  const auto signed_value = static_cast<std::int64_t>(diff::apply_zigzag(0, value));
  out.meaning = Json::object({{"unsigned", show(value)}, {"zigzag", show(signed_value)}});
  std::byte again[diff::kMaxVarintBytes];
  out.bytes = Bytes(again, again + diff::put_varint(value, again));
  if (diff::zigzag_delta(0, static_cast<std::uint64_t>(signed_value)) != value) {
    return Result::malformed("the signed number is written as another one");
  }
  return {};
}

Result read_descriptors(std::span<const std::byte> bytes,
                        std::vector<protocol::type_descriptor>& out) {
  xdr::Reader reader = xdr_reader(bytes);
  while (reader.remaining() != 0) {
    protocol::type_descriptor one;
    if (!decode(reader, one)) return Result::malformed(reader.error());
    out.push_back(std::move(one));
  }
  return {};
}

Result context_table(const Vector& vector, types::SegmentTypes& types) {
  std::vector<protocol::type_descriptor> known;
  Result result = read_descriptors(vector.context_types(), known);
  return result.ok() ? types.add_received(known) : result;
}

Result signature(const Vector& vector, Decoded& out) {
  types::Registry registry;
  types::SegmentTypes types(registry);
  Result result = context_table(vector, types);
  if (!result.ok()) return result;
  const std::uint64_t serial = vector.json.find("meaning")->find("serial")->as_number();
  const types::Type& type = *types.find(static_cast<std::uint32_t>(serial));
  const Bytes bytes = vector.bytes();
  types::Fnv1a hash;
  hash.bytes(bytes.data(), bytes.size());
  if (hash.value() != type.hash) return Result::malformed("the hash is of other bytes");
  out.meaning = Json::object({{"serial", show(serial)}, {"hash", show_hash(type.hash)}});
  return {};
}

// Structure and layout are held against the descriptor, and the descriptor is made from them again.
Result descriptor(const Vector& vector, Decoded& out) {
  types::Registry registry;
  types::SegmentTypes types(registry);
  Result result = context_table(vector, types);
  std::vector<protocol::type_descriptor> found;
  const Bytes bytes = vector.bytes();
  if (result.ok()) result = read_descriptors(bytes, found);
  if (result.ok()) result = types.add_received(found);
  if (!result.ok()) return result;
  std::vector<Json> shown;
  std::vector<std::uint8_t> again;
  xdr::Writer writer(again);
  for (const protocol::type_descriptor& one : found) {
    const types::Type& type = *types.find(one.serial);
    shown.push_back(Json::object({{"serial", show(one.serial)},
                                  {"name", show(type.name)},
                                  {"hash", show_hash(type.hash)},
                                  {"predecessor", show_hash(type.predecessor)},
                                  {"body", show(one.body)},
                                  {"units", show(type.units)},
                                  {"slot_bytes", show(type.slot_bytes)}}));
    encode(writer, types::describe(type, one.serial, [&types](const types::Type& part) {
             return types.serial_of(part);
           }));
  }
  out.meaning = Json::object({{"types", Json::array(std::move(shown))}});
  out.bytes = as_bytes(again);
  return {};
}

Json message(const protocol::envelope& head, Json body) {
  const std::string name = name_of(static_cast<protocol::message_type>(head.type));
  return Json::object({{"type", name == "?" ? show(head.type) : Json::string(name)},
                       {"stream", show(head.stream)},
                       {"bulk_bytes", show(head.bulk_bytes)},
                       {"body", std::move(body)}});
}

Result control(const Vector& vector, Decoded& out) {
  const Bytes bytes = vector.bytes();
  xdr::Reader reader = xdr_reader(bytes);
  protocol::envelope head;
  if (!decode(reader, head)) return Result::malformed(reader.error());
  Json body;
  std::vector<std::uint8_t> again;
  xdr::Writer writer(again);
  encode(writer, head);
  std::vector<std::uint8_t> body_again;
  const auto rest = std::span(bytes).last(reader.remaining());
  Result result = show_body(head.type, rest, body, body_again);
  again.insert(again.end(), body_again.begin(), body_again.end());
  out.meaning = message(head, std::move(body));
  out.bytes = as_bytes(again);
  return result;
}

Result fields(const Vector& vector, Decoded& out) {
  const Bytes bytes = vector.bytes();
  xdr::Reader reader = xdr_reader(bytes);
  protocol::field_list list;
  if (!decode(reader, list) || !reader.finish()) return Result::malformed(reader.error());
  out.bytes = as_bytes(session::encoded(list));
  return show_fields(list.fields, out.meaning);
}

// Byte by byte: where the bytes are cut must not matter. The reader gives no code, as whatever it
// refuses ends the connection; so it is the one that the vector names.
Result frame(const Vector& vector, Decoded& out) {
  session::FrameReader reader;
  reader.set_max_bulk_bytes(vector.context_number("max_diff_bytes", std::uint64_t{1} << 40));
  std::vector<session::Message> complete;
  for (const std::byte byte : vector.bytes()) {
    (void)reader.space().put({&byte, 1});
    if (!reader.received(1, complete)) {
      const bool is_too_large = vector.text("error") == "TOO_LARGE";
      return {is_too_large ? types::error_code::TOO_LARGE : types::error_code::MALFORMED,
              reader.why()};
    }
  }
  std::vector<Json> messages;
  for (const session::Message& one : complete) {
    if (one.part == session::Part::first) continue;
    Json body;
    std::vector<std::uint8_t> again;
    Result result = show_body(one.head.type, std::as_bytes(std::span(one.body)), body, again);
    if (!result.ok()) return result;
    Json shown = message(one.head, std::move(body));
    shown.members.push_back({"bulk", show_hex(one.bulk.bytes())});
    messages.push_back(std::move(shown));
  }
  out.meaning = Json::object({{"messages", Json::array(std::move(messages))}});
  return {};
}

Result checkpoint_head(const Vector& vector, Decoded& out) {
  const Bytes bytes = vector.bytes();
  xdr::Reader reader = xdr_reader(bytes);
  protocol::checkpoint_head head;
  if (!decode(reader, head) || !reader.finish()) return Result::malformed(reader.error());
  std::vector<std::uint8_t> again;
  xdr::Writer writer(again);
  encode(writer, head);
  out.meaning = show(head);
  out.bytes = as_bytes(again);
  return {};
}

Result mip(const Vector& vector, Decoded& out) {
  types::Mip parsed;
  Result result = types::parse_mip(vector.text("text"), parsed);
  if (!result.ok()) return result;
  const types::Url& url = parsed.url;
  Json server = Json::object({});
  if (url.is_unix()) {
    server.members.push_back({"socket_file", show(url.socket_file)});
  } else {
    server.members.push_back({"secure", show(url.secure)});
    server.members.push_back({"host", show(url.host)});
    server.members.push_back({"port", show(std::uint64_t{url.port})});
  }
  if (!url.others.empty()) {
    std::vector<Json> others;
    for (const types::Host& other : url.others) others.push_back(show(other.text()));
    server.members.push_back({"others", Json::array(std::move(others))});
  }
  server.members.push_back({"path", show(url.path)});
  Json block;
  std::string canonical = url.text();
  if (parsed.serial != 0) {
    block = show(parsed.serial);
    canonical = types::mip_text(url, parsed.serial, parsed.unit);
  } else if (!parsed.block_name.empty()) {
    block = show(parsed.block_name);
    canonical += '#' + parsed.block_name;
    if (parsed.unit != 0) canonical += '#' + std::to_string(parsed.unit);
  }
  types::Mip again;
  result = types::parse_mip(canonical, again);
  if (result.ok() && !(again == parsed)) result = Result::malformed("canonical text means more");
  out.meaning = Json::object({{"url", std::move(server)},
                              {"block", std::move(block)},
                              {"offset", show(parsed.unit)},
                              {"canonical", Json::string(canonical)}});
  return result;
}

}  // namespace

Decoder decoder_of(const std::string& kind) {
  static const std::map<std::string, Decoder> decoders = {
      {"varint", varint},
      {"signature", signature},
      {"descriptor", descriptor},
      {"value", decode_value},
      {"pointer", decode_pointer},
      {"diff", decode_diff},
      {"control", control},
      {"fields", fields},
      {"frame", frame},
      {"checkpoint-head", checkpoint_head},
      {"mip", mip},
  };
  const auto found = decoders.find(kind);
  return found == decoders.end() ? nullptr : found->second;
}

}  // namespace iw::vectors
