#include "vectors/show.h"

#include <charconv>
#include <cstdio>

#include "protocol/error.gen.h"
#include "protocol/lock.gen.h"
#include "protocol/moving.gen.h"
#include "protocol/notify.gen.h"
#include "protocol/segment.gen.h"
#include "session/fields.h"

namespace iw::vectors {

namespace p = protocol;

namespace {

constexpr std::uint64_t kExactEnd = std::uint64_t{1} << 53;

template <typename T>
Json show_float(T value) {
  char text[64];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  std::string shown(text, error == std::errc{} ? end : text);
  if (shown.find_first_of(".en") == std::string::npos) shown += ".0";
  return Json::number(shown);
}

}  // namespace

Json show(std::uint64_t value) {
  const std::string text = std::to_string(value);
  return value < kExactEnd ? Json::number(text) : Json::string(text);
}

Json show(std::int64_t value) {
  const std::uint64_t size =
      value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
  const std::string text = std::to_string(value);
  return size < kExactEnd ? Json::number(text) : Json::string(text);
}

Json show(double value) { return show_float(value); }
Json show(float value) { return show_float(value); }

Json show_hex(std::span<const std::byte> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text.push_back(kDigits[std::to_integer<unsigned>(byte) >> 4]);
    text.push_back(kDigits[std::to_integer<unsigned>(byte) & 15]);
  }
  return Json::string(text);
}

Json show_hash(std::uint64_t hash) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(hash));
  return Json::string(text);
}

// Not in an unnamed namespace, where they would hide those of show.h.
static Json show(p::error_code v) { return Json::string(name_of(v)); }
static Json show(p::segment_place v) { return Json::string(name_of(v)); }
static Json show(p::member_state v) { return Json::string(name_of(v)); }
static Json show(p::durability v) { return Json::string(name_of(v)); }
static Json show(p::coherence_model v) { return Json::string(name_of(v)); }

template <std::size_t N>
static Json show(const std::array<std::uint8_t, N>& bytes) {
  return show_hex(std::as_bytes(std::span(bytes)));
}

// How each message is shown; declared before the templates that look for them.
#define IW_STRUCTS(S)                                                                              \
  S(hello, F(magic), F(version_min), F(version_max), F(session), F(token), F(client), F(fields))   \
  S(welcome, F(version), F(session), F(resumed), F(heartbeat_ms), F(session_lease_ms),             \
    F(max_diff_bytes), F(server), F(fields))                                                       \
  S(cancel, F(stream))                                                                             \
  S(file_read, F(option), F(taken), F(count), F(text))                                             \
  S(access_reloaded, F(generation), F(files))                                                      \
  S(list_members, F(after))                                                                        \
  S(member_info, F(number), F(address), F(tls_name), F(lease_ms), F(state), F(is_asked),           \
    F(segments), F(rules_version))                                                                 \
  S(store_state, F(kind), F(primary), F(timeline), F(standbys), F(wants_standby), F(trouble))      \
  S(member_list, F(shares_store), F(tells_all), F(members), F(more), F(unowned), F(rules_version), \
    F(store))                                                                                      \
  S(unimplemented, F(type))                                                                        \
  S(error_reply, F(code), F(text), F(fields))                                                      \
  S(version_stamp, F(incarnation), F(number), F(chain))                                            \
  S(open_segment, F(path), F(create), F(read_only), F(durable), F(quota_bytes), F(fields))         \
  S(segment_opened, F(segment), F(created), F(newest), F(durable), F(quota_bytes), F(block_count), \
    F(wire_bytes), F(fields))                                                                      \
  S(close_segment, F(segment))                                                                     \
  S(remove_segment, F(path))                                                                       \
  S(list_segments, F(prefix), F(after))                                                            \
  S(segment_info, F(path), F(newest), F(durable), F(block_count), F(wire_bytes), F(quota_bytes),   \
    F(clients), F(subscribers), F(writer_locked), F(writers_waiting))                              \
  S(segment_list, F(segments), F(more))                                                            \
  S(list_places, F(prefix), F(after))                                                              \
  S(listed_place, F(segment), F(place), F(address), F(tls_name))                                   \
  S(place_list, F(places), F(more))                                                                \
  S(describe_blocks, F(segment), F(after_serial), F(serials), F(names))                            \
  S(blocks_described, F(newest), F(more))                                                          \
  S(acquire_reader, F(segment), F(have), F(model), F(x), F(fresh), F(deadline_ms))                 \
  S(reader_acquired, F(now), F(updated))                                                           \
  S(release_reader, F(segment))                                                                    \
  S(acquire_writer, F(segment), F(have), F(deadline_ms))                                           \
  S(writer_acquired, F(now), F(updated), F(fence), F(lease_ms), F(max_hold_ms), F(first_serial),   \
    F(serial_count))                                                                               \
  S(renew_writer, F(segment), F(fence))                                                            \
  S(writer_renewed, F(lease_ms))                                                                   \
  S(more_serials, F(segment), F(fence), F(count))                                                  \
  S(serials_granted, F(first_serial), F(serial_count))                                             \
  S(release_part, F(segment), F(fence), F(base), F(diff_bytes))                                    \
  S(release_writer, F(sequence), F(parts))                                                         \
  S(writer_released, F(versions))                                                                  \
  S(writer_kept, F(versions))                                                                      \
  S(abort_writer, F(segment), F(fence))                                                            \
  S(resolve_release, F(segment), F(session), F(sequence))                                          \
  S(release_resolved, F(committed), F(version))                                                    \
  S(subscribe, F(segment), F(have), F(model), F(x), F(push), F(push_bytes))                        \
  S(subscribed, F(now))                                                                            \
  S(unsubscribe, F(segment))                                                                       \
  S(not_recent, F(segment), F(now))                                                                \
  S(push, F(segment), F(from), F(now))                                                             \
  S(credit, F(segment), F(bytes))                                                                  \
  S(writer_lost, F(segment), F(fence))                                                             \
  S(recall_writer, F(segment), F(fence))                                                           \
  S(segment_gone, F(segment))                                                                      \
  S(follow_segment, F(path))                                                                       \
  S(segment_followed, F(member), F(owned), F(read_bytes))                                          \
  S(hand_over, F(path), F(member), F(deadline_ms))                                                 \
  S(segment_moved, F(segment), F(address), F(tls_name))                                            \
  S(enum_member, F(name), F(value))                                                                \
  S(field, F(name), F(type))                                                                       \
  S(union_arm, F(name), F(type), F(values))                                                        \
  S(array_body, F(element), F(count))                                                              \
  S(union_body, F(discriminant), F(discriminant_type), F(arms), F(otherwise))                      \
  S(sequence_body, F(element), F(bound))                                                           \
  S(committed_release, F(session), F(sequence), F(version), F(chain))                              \
  S(id_field, F(id))                                                                               \
  S(label_field, F(label))                                                                         \
  S(pid_field, F(pid))                                                                             \
  S(redirect_field, F(address), F(tls_name), F(relay))                                             \
  S(identity_field, F(scheme), F(name))                                                            \
  S(epoch_field, F(epoch))                                                                         \
  S(keeping_field, F(keeps_grants))                                                                \
  S(moving_field, F(follows_moves))

// Opaque values of variable length.
static Json show(const p::header_field& v);
static Json show(const p::challenge_field& v);
static Json show(const p::chain_field& v);

#define IW_DECLARE(name, ...) static Json show(const p::name& v);
IW_STRUCTS(IW_DECLARE)
#undef IW_DECLARE

template <typename T>
static Json show(const std::vector<T>& values) {
  std::vector<Json> items;
  for (const T& value : values) items.push_back(show(value));
  return Json::array(std::move(items));
}

template <typename T>
static Json show(const std::unique_ptr<T>& value) {
  return value == nullptr ? Json{} : show(*value);
}

#define F(member) \
  { #member, show(v.member) }
#define IW_DEFINE(name, ...) \
  static Json show(const p::name& v) { return Json::object({__VA_ARGS__}); }
IW_STRUCTS(IW_DEFINE)
#undef IW_DEFINE

static Json show_opaque(const std::vector<std::uint8_t>& bytes) {
  return show_hex(std::as_bytes(std::span(bytes)));
}

static Json show(const p::header_field& v) {
  return Json::object({F(key), {"value", show_opaque(v.value)}});
}

static Json show(const p::challenge_field& v) {
  return Json::object({F(scheme), {"bytes", show_opaque(v.bytes)}});
}

static Json show(const p::chain_field& v) {
  return Json::object({F(function), {"hash", show_opaque(v.hash)}});
}

namespace {

template <typename T>
types::Result body_of(std::span<const std::byte> bytes, Json& out,
                      std::vector<std::uint8_t>& again) {
  xdr::Reader reader(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  T value{};
  if (!decode(reader, value) || !reader.finish()) return types::Result::malformed(reader.error());
  out = show(value);
  xdr::Writer writer(again);
  encode(writer, value);
  return {};
}

types::Result no_body(std::span<const std::byte> bytes, Json& out) {
  xdr::Reader reader(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (!reader.finish()) return types::Result::malformed(reader.error());
  out = Json::object({});
  return {};
}

}  // namespace

Json show(const p::type_body& v) {
  std::vector<Json::Member> members = {{"kind", Json::string(name_of(v.kind))}};
  switch (v.kind) {
    case p::type_kind::ENUM:
      members.push_back(F(members));
      break;
    case p::type_kind::STRING:
      members.push_back(F(bound));
      break;
    case p::type_kind::ARRAY:
      members.push_back(F(array));
      break;
    case p::type_kind::RECORD:
      members.push_back(F(fields));
      break;
    case p::type_kind::UNION:
      members.push_back(F(choice));
      break;
    case p::type_kind::POINTER:
      members.push_back(F(target));
      break;
    case p::type_kind::SEQUENCE:
      members.push_back(F(sequence));
      break;
    case p::type_kind::TEXT:
      members.push_back(F(text_bound));
      break;
    case p::type_kind::PRIMITIVE:
      break;
  }
  return Json::object(std::move(members));
}

Json show(const p::checkpoint_head& v) {
  return Json::object({F(magic), F(segment_id), F(path), F(durable), F(quota_bytes), F(at),
                       F(next_serial), F(fence), F(parent), F(releases), F(fields), F(diff_bytes)});
}

namespace {

template <typename T>
types::Result value_of(std::span<const p::header_field> list, p::field_key key, Json& out) {
  T value{};
  bool is_there = false;
  types::Result found = session::find_field(list, key, value, is_there);
  out = show(value);
  return found;
}

// The value as a reader of the key decodes it.
types::Result show_value(std::span<const p::header_field> list, const p::header_field& field,
                         Json& out) {
  using K = p::field_key;
  const auto key = static_cast<K>(field.key);
  switch (key) {
    case K::FIELD_SPACE_ID:
    case K::FIELD_SERVER_ID:
      return value_of<p::id_field>(list, key, out);
    case K::FIELD_PROGRAM:
    case K::FIELD_HOST:
      return value_of<p::label_field>(list, key, out);
    case K::FIELD_PID:
      return value_of<p::pid_field>(list, key, out);
    case K::FIELD_REDIRECT:
      return value_of<p::redirect_field>(list, key, out);
    case K::FIELD_IDENTITY:
      return value_of<p::identity_field>(list, key, out);
    case K::FIELD_CHALLENGE:
    case K::FIELD_PROOF:
      return value_of<p::challenge_field>(list, key, out);
    case K::FIELD_CHAIN_HASH:
      return value_of<p::chain_field>(list, key, out);
    case K::FIELD_EPOCH:
      return value_of<p::epoch_field>(list, key, out);
    case K::FIELD_KEEPING:
      return value_of<p::keeping_field>(list, key, out);
    case K::FIELD_MOVING:
      return value_of<p::moving_field>(list, key, out);
  }
  out = show_opaque(field.value);
  return {};
}

}  // namespace

types::Result show_fields(std::span<const p::header_field> list, Json& out) {
  if (types::Result checked = session::check_fields(list); !checked) return checked;
  std::vector<Json> shown;
  for (const p::header_field& field : list) {
    Json value;
    if (types::Result read = show_value(list, field, value); !read) return read;
    const std::string name = name_of(static_cast<p::field_key>(field.key));
    Json key = name == "?" ? show(field.key) : Json::string(name);
    shown.push_back(Json::object({{"key", std::move(key)}, {"value", std::move(value)}}));
  }
  out = Json::object({{"fields", Json::array(std::move(shown))}});
  return {};
}

types::Result show_body(std::int32_t type, std::span<const std::byte> bytes, Json& out,
                        std::vector<std::uint8_t>& again) {
  using T = p::message_type;
  switch (static_cast<T>(type)) {
    case T::CONTINUE:
    case T::PING:
    case T::PONG:
    case T::DONE:
    case T::GOODBYE:
    case T::HEARTBEAT:
    case T::RELOAD_ACCESS:
    case T::DRAIN:
      return no_body(bytes, out);
#define IW_CASE(NAME, name) \
  case T::NAME:             \
    return body_of<p::name>(bytes, out, again);
      IW_CASE(ERROR, error_reply)
      IW_CASE(UNIMPLEMENTED, unimplemented)
      IW_CASE(HELLO, hello)
      IW_CASE(WELCOME, welcome)
      IW_CASE(CANCEL, cancel)
      IW_CASE(ACCESS_RELOADED, access_reloaded)
      IW_CASE(LIST_MEMBERS, list_members)
      IW_CASE(MEMBER_LIST, member_list)
      IW_CASE(OPEN_SEGMENT, open_segment)
      IW_CASE(SEGMENT_OPENED, segment_opened)
      IW_CASE(CLOSE_SEGMENT, close_segment)
      IW_CASE(REMOVE_SEGMENT, remove_segment)
      IW_CASE(LIST_SEGMENTS, list_segments)
      IW_CASE(SEGMENT_LIST, segment_list)
      IW_CASE(LIST_PLACES, list_places)
      IW_CASE(PLACE_LIST, place_list)
      IW_CASE(DESCRIBE_BLOCKS, describe_blocks)
      IW_CASE(BLOCKS_DESCRIBED, blocks_described)
      IW_CASE(ACQUIRE_READER, acquire_reader)
      IW_CASE(READER_ACQUIRED, reader_acquired)
      IW_CASE(RELEASE_READER, release_reader)
      IW_CASE(ACQUIRE_WRITER, acquire_writer)
      IW_CASE(WRITER_ACQUIRED, writer_acquired)
      IW_CASE(RENEW_WRITER, renew_writer)
      IW_CASE(WRITER_RENEWED, writer_renewed)
      IW_CASE(MORE_SERIALS, more_serials)
      IW_CASE(SERIALS_GRANTED, serials_granted)
      IW_CASE(RELEASE_WRITER, release_writer)
      IW_CASE(WRITER_RELEASED, writer_released)
      IW_CASE(WRITER_KEPT, writer_kept)
      IW_CASE(ABORT_WRITER, abort_writer)
      IW_CASE(RESOLVE_RELEASE, resolve_release)
      IW_CASE(RELEASE_RESOLVED, release_resolved)
      IW_CASE(FOLLOW_SEGMENT, follow_segment)
      IW_CASE(SEGMENT_FOLLOWED, segment_followed)
      IW_CASE(HAND_OVER, hand_over)
      IW_CASE(SEGMENT_MOVED, segment_moved)
      IW_CASE(SUBSCRIBE, subscribe)
      IW_CASE(SUBSCRIBED, subscribed)
      IW_CASE(UNSUBSCRIBE, unsubscribe)
      IW_CASE(NOT_RECENT, not_recent)
      IW_CASE(PUSH, push)
      IW_CASE(CREDIT, credit)
      IW_CASE(WRITER_LOST, writer_lost)
      IW_CASE(RECALL_WRITER, recall_writer)
      IW_CASE(SEGMENT_GONE, segment_gone)
#undef IW_CASE
  }
  // A type that is not known: its body is not looked at [FRAME-6].
  out = show_hex(bytes);
  const auto* const raw = reinterpret_cast<const std::uint8_t*>(bytes.data());
  again.assign(raw, raw + bytes.size());
  return {};
}

}  // namespace iw::vectors
