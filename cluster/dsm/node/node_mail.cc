#include "dsm/node/node_mail.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "dsm/protocol/messages.h"

namespace iw::dsm {

using fabric::Bytes;
using fabric::bytes_of;
using fabric::Status;

NodeMail::NodeMail(const Options& options, Rank me, fabric::Worker& worker,
                   std::vector<fabric::PeerId> peers, MailListener& listener)
    : options_(options),
      me_(me),
      worker_(worker),
      peers_(std::move(peers)),
      listener_(listener),
      rings_(peers_.size()) {
  for (Rank rank = 0; rank < peers_.size(); rank++) {
    if (rank == me_) continue;
    const fabric::PeerId peer = peers_[rank];
    if (peer >= ranks_.size()) ranks_.resize(peer + 1);
    ranks_[peer] = rank;
  }
  // Of the longest question for a page: what the copy lacks, the own diff, and what the copy has of
  // writers.
  scratch_.reserve((2 * peers_.size() + 1) * sizeof(ToldStamp));
}

NodeMail::~NodeMail() = default;

std::optional<Rank> NodeMail::rank_of(fabric::PeerId peer) const {
  return peer < ranks_.size() ? ranks_[peer] : std::nullopt;
}

NodeMail::Letter* NodeMail::take_letter(Rank to) {
  if (free_letters_.empty()) {
    Letter& made = *letters_.emplace_back(make_for_faults<Letter>());
    made.done = &NodeMail::on_letter_sent;
    made.mail = this;
    free_letters_.push_back(&made);
  }
  Letter* letter = free_letters_.back();
  free_letters_.pop_back();
  letter->to = to;
  return letter;
}

void NodeMail::on_letter_sent(fabric::Completion& self, Status status) {
  auto& letter = static_cast<Letter&>(self);
  letter.mail->in_transport_--;
  letter.mail->give_back(&letter, status);
}

void NodeMail::give_back(Letter* letter, Status status) {
  constexpr std::size_t kept_bytes_most = 4096;
  if (letter->bytes.capacity() > kept_bytes_most) letter->bytes = {};
  free_letters_.push_back(letter);
  // Of a death the worker tells.
  if (status != Status::ok && status != Status::peer_dead) listener_.not_sent(letter->to, status);
}

// The header is copied. The payload stays where it is until the letter is sent.
Status NodeMail::hand(Letter* letter, fabric::MessageId id, Bytes header, Bytes payload) {
  std::ranges::copy(header, letter->header.begin());
  const Bytes kept = Bytes(letter->header).first(header.size());
  stats_.bytes += header.size() + payload.size();
  const Status status = worker_.send(peers_[letter->to], id, kept, payload, letter);
  if (status == Status::pending) {
    in_transport_++;
  } else {
    give_back(letter, status);
  }
  return status;
}

Status NodeMail::post(Rank to, fabric::MessageId id, Bytes header, Bytes payload) {
  Letter* letter = take_letter(to);
  letter->bytes.assign(payload.begin(), payload.end());
  return hand(letter, id, header, letter->bytes);
}

void NodeMail::send(Rank to, Message kind, Bytes header, Bytes payload) {
  while (payload.size() > part_bytes) {
    stats_.messages[static_cast<std::size_t>(Message::part)]++;
    post(to, static_cast<fabric::MessageId>(Message::part), {}, payload.first(part_bytes));
    payload = payload.subspan(part_bytes);
  }
  stats_.messages[static_cast<std::size_t>(kind)]++;
  post(to, static_cast<fabric::MessageId>(kind), header, payload);
}

Status NodeMail::send_service(Rank to, fabric::MessageId id, Bytes header, Bytes payload) {
  const bool is_sound =
      header.size() <= fabric::header_bytes_max && payload.size() <= fabric::payload_bytes_max;
  if (!is_sound) return Status::bad_argument;
  stats_.service_messages++;
  const Status status = post(to, id, header, payload);
  return status == Status::pending ? Status::ok : status;
}

// Pages.

void NodeMail::ask_home(Rank to, PageNumber page) {
  send(to, Message::ask_home, bytes_of(PageHead{page}), {});
}

void NodeMail::tell_home(Rank to, PageNumber page, Rank home) {
  send(to, Message::tell_home, bytes_of(HomeHead{page, home, 0}), {});
}

void NodeMail::ask_initial(Rank to, PageNumber page) {
  send(to, Message::ask_initial, bytes_of(PageHead{page}), {});
}

void NodeMail::tell_initial(Rank to, PageNumber page, std::span<const std::byte> bytes) {
  send(to, Message::tell_initial, bytes_of(PageHead{page}), bytes);
}

void NodeMail::ask_page(Rank to, PageNumber page, std::span<const Stamp> needed) {
  scratch_.clear();
  append_stamps(needed, &scratch_);
  send(to, Message::ask_page, bytes_of(PageHead{page}), scratch_);
}

void NodeMail::tell_page(Rank to, PageNumber page, std::span<const Stamp> there,
                         std::span<const std::byte> bytes) {
  const PageHead head{page};
  const Bytes head_bytes = bytes_of(head);
  scratch_.assign(head_bytes.begin(), head_bytes.end());
  append_stamps(there.first(std::min<std::size_t>(there.size(), told_stamps_max)), &scratch_);
  stats_.messages[static_cast<std::size_t>(Message::tell_page)]++;
  hand(take_letter(to), static_cast<fabric::MessageId>(Message::tell_page), scratch_, bytes);
}

// Locks and barriers.

void NodeMail::ask_lock(Rank to, LockId lock, bool is_try, const VectorTime& known) {
  scratch_.clear();
  append_time(known, &scratch_);
  send(to, Message::ask_lock, bytes_of(LockHead{lock, 0, 0, is_try ? 1u : 0u}), scratch_);
}

void NodeMail::forward(Rank to, LockId lock, Rank asker, bool is_try, const VectorTime& known) {
  scratch_.clear();
  append_time(known, &scratch_);
  send(to, Message::forward, bytes_of(LockHead{lock, 0, asker, is_try ? 1u : 0u}), scratch_);
}

void NodeMail::grant(Rank to, LockId lock, Epoch epoch, std::span<const Interval> intervals) {
  scratch_.clear();
  append_intervals(intervals, &scratch_);
  send(to, Message::grant, bytes_of(LockHead{lock, epoch, 0, 0}), scratch_);
}

void NodeMail::refuse(Rank to, LockId lock) {
  send(to, Message::refuse, bytes_of(LockHead{lock, 0, 0, 0}), {});
}

void NodeMail::tell_tried(Rank to, LockId lock, bool is_given) {
  send(to, Message::tell_tried, bytes_of(LockHead{lock, 0, 0, is_given ? 1u : 0u}), {});
}

void NodeMail::give_back(Rank to, Epoch epoch, std::span<const GivenLock> locks) {
  send(to, Message::give_back, bytes_of(GiveBackHead{epoch}), std::as_bytes(locks));
}

void NodeMail::take_back(Rank to, std::span<const GivenLock> locks) {
  send(to, Message::take_back, {}, std::as_bytes(locks));
}

void NodeMail::tell_whereabouts(Rank to) {
  send(to, Message::come, bytes_of(ComeHead{here_.where, 0, here_.barriers, here_.collectives}),
       {});
}

void NodeMail::arrive(Rank to, BarrierId barrier, const VectorTime& known,
                      std::span<const Interval> held) {
  scratch_.clear();
  append_time(known, &scratch_);
  append_intervals(held, &scratch_);
  send(to, Message::arrive, bytes_of(BarrierHead{barrier, here_.barriers, here_.collectives}),
       scratch_);
}

void NodeMail::let_go(Rank to, const VectorTime& common, std::span<const Interval> lacking) {
  scratch_.clear();
  append_time(common, &scratch_);
  append_intervals(lacking, &scratch_);
  send(to, Message::let_go, bytes_of(BarrierHead{}), scratch_);
}

// Diffs.

void NodeMail::count_waiting(std::size_t more, std::size_t less) {
  stats_.waiting_bytes += more;
  stats_.waiting_bytes -= less;
  stats_.waiting_bytes_most = std::max(stats_.waiting_bytes_most, stats_.waiting_bytes);
}

void NodeMail::send_diff(Rank to, PageNumber page, Sequence sequence,
                         std::span<const std::byte> runs) {
  stats_.diffs++;
  stats_.diff_bytes += runs.size();
  count_waiting(runs.size(), 0);
  Ring& ring = rings_[to];
  const Diff diff{page, sequence, runs};
  std::size_t packed = 0;
  if (ring.waiting.empty()) packed = pack(to, diff, 0);
  if (options_.way == DiffWay::orig) send_filling(to);
  if (packed == runs.size()) return;
  stats_.stalls++;
  if (ring.waiting.empty()) ring.packed = packed;
  ring.waiting.push_back({page, sequence, {runs.begin(), runs.end()}});
}

void NodeMail::flush_diffs() {
  for (const Rank to : std::exchange(dirty_, {})) send_filling(to);
}

void NodeMail::pull_diffs(Rank to, PageNumber page, Sequence last, Rank asker) {
  send(to, Message::ask_diffs, bytes_of(AskDiffsHead{page, 0, last, 0, asker}), {});
}

void NodeMail::ask_diffs(Rank to, PageNumber page, const DiffRange& range) {
  send(to, Message::ask_diffs,
       bytes_of(AskDiffsHead{page, range.first, range.last, range.count, 0}), {});
}

void NodeMail::tell_diffs(Rank to, PageNumber page, std::span<const KeptDiff* const> diffs) {
  FaultVector<std::byte> packed;
  for (const KeptDiff* each : diffs) {
    const auto bytes = static_cast<std::uint32_t>(each->runs.size());
    append_piece({page, each->sequence, bytes, 0, bytes, 0}, each->runs, &packed);
  }
  send(to, Message::tell_diffs, bytes_of(PageHead{page}), packed);
}

bool NodeMail::has_buffer(Rank to) {
  Ring& ring = rings_[to];
  if (ring.filling) return true;
  if (!ring.free.empty()) {
    ring.filling = std::move(ring.free.back());
    ring.free.pop_back();
  } else if (ring.made < options_.depth || options_.way == DiffWay::orig) {
    ring.made++;
    ring.filling = make_for_faults<Buffer>();
    ring.filling->done = &NodeMail::on_buffer_sent;
    ring.filling->mail = this;
    ring.filling->to = to;
  } else {
    return false;
  }
  ring.filling->bytes.resize(fabric::message_room_bytes);
  ring.filling->diff_bytes = 0;
  dirty_.push_back(to);
  return true;
}

// Packs the diff from `offset` on, and returns up to where there were buffers for it. A diff is cut
// only if no buffer can hold all of it.
std::size_t NodeMail::pack(Rank to, const Diff& diff, std::size_t offset) {
  Ring& ring = rings_[to];
  const std::size_t limit =
      options_.way == DiffWay::orig ? packed_bytes(diff.runs.size()) : options_.buffer_bytes;
  while (offset < diff.runs.size()) {
    if (!has_buffer(to)) break;
    Buffer& buffer = *ring.filling;
    const std::size_t used = buffer.bytes.size() - fabric::message_room_bytes;
    const std::size_t rest = diff.runs.size() - offset;
    const bool must_begin_anew = used > 0 && packed_bytes(rest) > limit - used;
    if (must_begin_anew) {
      send_filling(to);
      continue;
    }
    const std::size_t bytes = std::min(rest, limit - used - sizeof(DiffHead));
    const DiffHead head{diff.page,
                        diff.sequence,
                        static_cast<std::uint32_t>(diff.runs.size()),
                        static_cast<std::uint32_t>(offset),
                        static_cast<std::uint32_t>(bytes),
                        0};
    append_piece(head, diff.runs.subspan(offset, bytes), &buffer.bytes);
    buffer.diff_bytes += bytes;
    offset += bytes;
  }
  return offset;
}

void NodeMail::send_filling(Rank to) {
  Ring& ring = rings_[to];
  if (!ring.filling) return;
  Buffer& buffer = *ring.filling;
  ring.sent.push_back(std::move(ring.filling));
  buffer.is_acknowledged = false;
  stats_.buffers++;
  stats_.messages[static_cast<std::size_t>(Message::diffs)]++;
  stats_.bytes += buffer.bytes.size() - fabric::message_room_bytes;
  const Status status = worker_.send_in_place(
      peers_[to], static_cast<fabric::MessageId>(Message::diffs), buffer.bytes, 0, &buffer);
  buffer.is_in_transport = status == Status::pending;
  if (buffer.is_in_transport) in_transport_++;
  const bool has_failed = status != Status::ok && status != Status::pending;
  if (has_failed && status != Status::peer_dead) listener_.not_sent(to, status);
}

void NodeMail::on_buffer_sent(fabric::Completion& self, Status status) {
  auto& buffer = static_cast<Buffer&>(self);
  NodeMail& mail = *buffer.mail;
  const Rank to = buffer.to;
  buffer.is_in_transport = false;
  mail.in_transport_--;
  if (status != Status::ok && status != Status::peer_dead) mail.listener_.not_sent(to, status);
  mail.free_buffers(to);
}

void NodeMail::acknowledge_diffs(Rank to) { send(to, Message::diffs_taken, {}, {}); }

bool NodeMail::heard_acknowledge(Rank from) {
  FaultDeque<FaultPointer<Buffer>>& sent = rings_[from].sent;
  const auto first = std::ranges::find(sent, false, &Buffer::is_acknowledged);
  if (first == sent.end()) return false;
  (*first)->is_acknowledged = true;
  free_buffers(from);
  return true;
}

void NodeMail::free_buffers(Rank to) {
  Ring& ring = rings_[to];
  while (!ring.sent.empty()) {
    Buffer& first = *ring.sent.front();
    if (!first.is_acknowledged || first.is_in_transport) break;
    count_waiting(0, first.diff_bytes);
    if (options_.way == DiffWay::pipe) {
      ring.free.push_back(std::move(ring.sent.front()));
    } else {
      ring.made--;
    }
    ring.sent.pop_front();
  }
  send_waiting(to);
}

void NodeMail::send_waiting(Rank to) {
  Ring& ring = rings_[to];
  if (ring.waiting.empty()) return;
  while (!ring.waiting.empty()) {
    const WaitingDiff& first = ring.waiting.front();
    ring.packed = pack(to, {first.page, first.sequence, first.runs}, ring.packed);
    if (ring.packed < first.runs.size()) break;
    ring.waiting.pop_front();
    ring.packed = 0;
  }
  send_filling(to);
}

}  // namespace iw::dsm
