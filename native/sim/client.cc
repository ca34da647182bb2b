// The calls of the face, and the client's state as a simulator sees it.
#include "sim/client.h"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace iw::sim {
namespace {

constexpr std::size_t magic_and_flags_bytes = 5;

// The version that a diff begins at, from its head (spec/format/diff.md); false: these bytes do not
// begin a diff.
bool begins_at(std::span<const std::byte> diff, std::uint64_t& from) {
  from = 0;
  unsigned shift = 0;
  for (std::size_t at = magic_and_flags_bytes; at < diff.size() && shift < 64; ++at, shift += 7) {
    const auto byte = std::to_integer<std::uint64_t>(diff[at]);
    from |= (byte & 0x7FU) << shift;
    if (byte < 0x80U) return true;
  }
  return false;
}

// FNV-1a over the values of fields.
class Hash {
 public:
  void add(const protocol::version_stamp& stamp) {
    add(stamp.incarnation);
    add(stamp.number);
    add(stamp.chain);
  }
  void add(const protocol::session_id& id) {
    for (const std::uint8_t byte : id) add(byte);
  }
  void add(double number) { add(static_cast<std::uint64_t>(number * 1000)); }
  template <typename Number>
  requires(std::is_enum_v<Number> || std::is_integral_v<Number>) void add(Number number) {
    value_ = (value_ ^ static_cast<std::uint64_t>(number)) * 0x100000001B3U;
    value_ ^= value_ >> 29U;
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xCBF29CE484222325U;
};

}  // namespace

Segment::Segment(std::string segment_path, protocol::durability how)
    : path(std::move(segment_path)), durable(how), talk(begins_at, least_credit_bytes) {}

void Segment::begin_anew() {
  talk = Conversation(begins_at, least_credit_bytes);
  ++life;
}

void Client::add_segment(std::string path, protocol::durability durable) {
  segments_.emplace_back(std::move(path), durable);
}

void Client::connected(std::int64_t now_ns) {
  now_ns_ = now_ns;
  begin_connection();
  go_on();
}

void Client::disconnected(std::int64_t now_ns) {
  now_ns_ = now_ns;
  if (std::exchange(is_connecting_, false)) {
    reconnection_.failed(now_ns);
  } else if (connection_.has_value()) {
    lose();
  }
  go_on();
}

void Client::received(std::int64_t now_ns, std::span<const std::uint8_t> bytes) {
  now_ns_ = now_ns;
  take_in(bytes);
  go_on();
}

void Client::tick(std::int64_t now_ns) {
  now_ns_ = now_ns;
  woken_ns_ = never_due_ns;
  run_link_timers();
  for (std::size_t i = 0; i < segments_.size(); ++i) run_timers(i);
  go_on();
}

std::int64_t Client::due_ns() const {
  std::int64_t due_ns = std::min(woken_ns_, link_due_ns());
  for (const Segment& segment : segments_) due_ns = std::min(due_ns, due_of(segment));
  if (action_.at == At::pauses) due_ns = std::min(due_ns, action_.again_ns);
  if (action_.at != At::nothing) due_ns = std::min(due_ns, patience_ns());
  return due_ns;
}

bool Client::begin(std::int64_t now_ns, const iw_sim_action& wanted) {
  now_ns_ = now_ns;
  const bool is_own = action_.at != At::nothing && action_.wanted.kind == library_work;
  if ((action_.at != At::nothing && !is_own) || pending_.has_value()) return false;
  Action next;
  next.wanted = wanted;
  if (wanted.diff != nullptr) next.diff.assign(wanted.diff, wanted.diff + wanted.diff_bytes);
  next.wanted.diff = nullptr;
  next.at = At::begins;
  pending_ = std::move(next);
  go_on();
  return true;
}

void Client::give_up(std::int64_t now_ns) {
  now_ns_ = now_ns;
  if (action_.at != At::nothing) action_.is_given_up = true;
  go_on();
}

bool Client::next(iw_sim_event& out) {
  if (events_.empty()) return false;
  given_ = std::move(events_.front().bytes);
  out = events_.front().said;
  out.bytes = given_.data();
  out.size = given_.size();
  events_.pop_front();
  return true;
}

void Client::know(std::uint32_t segment, iw_sim_knowledge& out) const {
  const Conversation& talk = segments_[segment].talk;
  const coherence::Knowledge known = talk.state().with_staged(talk.knowledge(moment()));
  out.hears_of_all = known.promised && known.promise.model == coherence::Model::FULL ? 1 : 0;
  const bool owes = talk.has_late_grant() || talk.has_unused_strict();
  out.owes_lock = talk.life().is_open() && owes ? 1 : 0;
  out.newest = version_of(talk.state().newest());
}

std::uint64_t Client::hash() const {
  Hash hash;
  const auto see = [&hash](const auto&... fields) { (hash.add(fields), ...); };
  for (const Segment& segment : segments_) {
    segment.talk.describe(see);
    see(segment.life, segment.reads_strictly);
  }
  see(identity_.id, sequence_, number_, is_greeted_, is_connecting_, heard_ns_, last_tag_,
      waiters_.size(), listeners_.size(), action_.at, action_.then, action_.tag, due_ns());
  return hash.value();
}

Event& Client::add_event(std::uint32_t kind, std::size_t segment) {
  events_.emplace_back();
  events_.back().said.kind = kind;
  events_.back().said.segment = static_cast<std::uint32_t>(segment);
  return events_.back();
}

iw_sim_version version_of(const protocol::version_stamp& stamp) {
  return {stamp.incarnation, stamp.number, stamp.chain};
}

}  // namespace iw::sim
