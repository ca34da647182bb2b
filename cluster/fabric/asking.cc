#include "fabric/asking.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "fabric/messenger.h"
#include "fabric/peers.h"
#include "fabric/ucx_window.h"

namespace iw::fabric {
namespace {

bool is_over(const Question& question) {
  return question.unasked == 0 && question.expected == 0 && question.in_transport == 0;
}

// Any other status of an answer is a failure, also `pending`, which would not be an end.
Status status_in(const Answer& answer) {
  const auto said = static_cast<Status>(answer.status);
  return said == Status::ok || said == Status::bad_argument ? said : Status::failed;
}

}  // namespace

Question* Asker::add(PeerId peer, const Request& request, Completion* done) {
  Question& question = questions_.open(peer, secrets_.next());
  question.done = &Asker::on_sent;
  question.asker = this;
  question.whose = done;
  question.request = request;
  question.request.token = {question.place, question.mark};
  question.request.tag = table_.find(peer)->tag_there;
  question.to = nullptr;
  question.before = nullptr;
  question.puts = 0;
  question.result = Status::ok;
  return &question;
}

// A put is sent at once, even if other questions wait, so that a later question about puts comes
// after it.
Status Asker::put(const UcxWindow& to, std::size_t offset, Bytes from, bool is_told,
                  Completion* done) {
  if (to.own_regions != nullptr) return to.own_regions->put(to.region, offset, from);
  Asked& asked = to.peer_state->asked;
  Question* question = add(to.peer(), {.region = to.region, .offset = offset}, done);
  question->puts = ++asked.puts;
  Request& request = question->request;
  bool was_sent = true;
  while (was_sent && !from.empty()) {
    const Bytes piece = from.first(std::min(from.size(), piece_bytes_max));
    from = from.subspan(piece.size());
    request.access = from.empty() && is_told ? Access::put_and_tell : Access::put;
    was_sent = send(to.peer(), request, piece, question, &question->in_transport);
    request.offset += piece.size();
  }
  if (is_told || !was_sent) {
    question->expected = 1;
    asked.unanswered_bytes += answer_bytes;
  }
  if (!is_over(*question)) return Status::pending;
  questions_.close(*question);
  return Status::ok;
}

Status Asker::get(const UcxWindow& from, std::size_t offset, std::span<std::byte> to,
                  Completion* done) {
  if (from.own_regions != nullptr) return from.own_regions->get(from.region, offset, to);
  Question* question =
      add(from.peer(), {.access = Access::get, .region = from.region, .offset = offset}, done);
  question->to = to.data();
  question->unasked_bytes = to.size();
  question->unasked = static_cast<std::uint32_t>((to.size() - 1) / piece_bytes_max + 1);
  return ask(question);
}

Status Asker::fetch_add(const UcxWindow& at, std::size_t offset, std::uint64_t add_up,
                        std::uint64_t* before, Completion* done) {
  if (at.own_regions != nullptr) {
    return at.own_regions->fetch_add(at.region, offset, add_up, before);
  }
  const Request request{
      .access = Access::fetch_add, .region = at.region, .offset = offset, .operand = add_up};
  Question* question = add(at.peer(), request, done);
  question->before = before;
  question->unasked = 1;
  return ask(question);
}

Status Asker::compare_swap(const UcxWindow& at, std::size_t offset, std::uint64_t expected,
                           std::uint64_t desired, std::uint64_t* before, Completion* done) {
  if (at.own_regions != nullptr) {
    return at.own_regions->compare_swap(at.region, offset, expected, desired, before);
  }
  const Request request{.access = Access::compare_swap,
                        .region = at.region,
                        .offset = offset,
                        .operand = expected,
                        .desired = desired};
  Question* question = add(at.peer(), request, done);
  question->before = before;
  question->unasked = 1;
  return ask(question);
}

Status Asker::flush(PeerId peer, Completion* done) {
  const Asked& asked = table_.find(peer)->asked;
  if (asked.puts == asked.puts_settled) return Status::ok;
  Question* question = add(peer, {.access = Access::flush}, done);
  question->puts = asked.puts;
  question->unasked = 1;
  return ask(question);
}

Status Asker::ask(Question* question) {
  Peer& peer = *table_.find(question->peer);
  const bool is_first = peer.asked.waiting.empty();
  if (!is_first || !ask_pieces(peer, question)) peer.asked.waiting.push_back(question);
  return Status::pending;
}

void Asker::ask_what_waits(Peer& peer) {
  auto& waiting = peer.asked.waiting;
  while (!waiting.empty() && ask_pieces(peer, waiting.front())) waiting.pop_front();
}

// True: all pieces have been asked for.
bool Asker::ask_pieces(Peer& peer, Question* question) {
  Request& request = question->request;
  while (question->unasked > 0) {
    if (peer.asked.unanswered_bytes >= unanswered_bytes_max) return false;
    const std::size_t bytes = std::min(question->unasked_bytes, piece_bytes_max);
    if (request.access == Access::get) request.operand = bytes;
    if (!send(question->peer, request, {}, nullptr, nullptr)) return false;
    request.offset += bytes;
    question->unasked--;
    question->expected++;
    question->unasked_bytes -= bytes;
    question->expected_bytes += bytes;
    peer.asked.unanswered_bytes += answer_bytes + bytes;
  }
  return true;
}

// If a piece cannot be sent, the peer is given up, and all its questions with it.
bool Asker::send(PeerId peer, const Request& request, Bytes data, Completion* sent,
                 unsigned* pending) {
  const Status status = messenger_.tell(table_.find(peer)->endpoint, request_id,
                                        std::as_bytes(std::span(&request, 1)), data, sent);
  if (status == Status::pending && pending != nullptr) ++*pending;
  if (status == Status::ok || status == Status::pending) return true;
  peers_.fail_soon(peer, status == Status::unreachable ? status : Status::peer_dead);
  return false;
}

void Asker::on_sent(Completion& self, Status status) {
  auto& question = static_cast<Question&>(self);
  question.in_transport--;
  if (question.result == Status::ok) question.result = status;
  question.asker->end_if_over(&question);
}

void Asker::end_if_over(Question* question) {
  if (!is_over(*question)) return;
  Completion* whose = question->whose;
  const Status result = question->result;
  questions_.close(*question);
  if (whose != nullptr) whose->done(*whose, result);
}

void Asker::take(const Answer& answer, Bytes data) {
  Peer* from = table_.find_by_tag(answer.tag);  // [HELLO-8]
  if (from == nullptr) return;
  Question* question = questions_.find(answer.token.place, answer.token.secret, from->id);
  if (question == nullptr || question->expected == 0) return;
  Peer& peer = *from;
  const std::size_t bytes = std::min(question->expected_bytes, piece_bytes_max);
  Status status = status_in(answer);
  if (status == Status::ok && data.size() != bytes) status = Status::failed;
  question->expected--;
  question->expected_bytes -= bytes;
  peer.asked.unanswered_bytes -= answer_bytes + bytes;
  peer.asked.puts_settled = std::max(peer.asked.puts_settled, question->puts);
  if (status != Status::ok) {
    question->result = status;
    drop_unasked(question);
  } else if (question->to != nullptr) {
    std::memcpy(question->to, data.data(), bytes);
    question->to += bytes;
  } else if (question->before != nullptr) {
    *question->before = answer.before;
  }
  end_if_over(question);
  ask_what_waits(peer);
}

void Asker::drop_unasked(Question* question) {
  if (question->unasked > 0) table_.find(question->peer)->asked.waiting.remove(question);
  question->unasked = 0;
  question->unasked_bytes = 0;
}

bool Asker::forget(const Completion* done) {
  Question* found = questions_.find_if([&](const Question& each) { return each.whose == done; });
  if (found == nullptr || found->in_transport > 0) return false;
  found->whose = nullptr;
  found->to = nullptr;
  found->before = nullptr;
  drop_unasked(found);
  end_if_over(found);
  return true;
}

void Asker::end_all(PeerId peer, Status why) {
  table_.find(peer)->asked = {};
  questions_.for_each_of(peer, [&](Question& question) {
    question.unasked = question.expected = 0;
    question.unasked_bytes = question.expected_bytes = 0;
    question.result = why;
    end_if_over(&question);
  });
}

}  // namespace iw::fabric
