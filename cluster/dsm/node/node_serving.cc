// What a node does with the messages of other ranks, and with their deaths.
#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "dsm/node/node.h"

namespace iw::dsm {

using fabric::Bytes;
using fabric::read_whole;
using fabric::Status;

void Node::on_message(void* context, const fabric::Message& message) {
  const Entry& entry = *static_cast<Entry*>(context);
  if (entry.node != nullptr) entry.node->take(entry.kind, message);
}

void Node::take(Message kind, const fabric::Message& message) {
  const std::optional<Rank> from = mail_.rank_of(message.from);
  const bool is_over = failure_ || has_finished_;
  if (!from || (is_over && kind != Message::tell_job)) return;
  if (!serve(kind, *from, message.header, message.payload)) break_off(*from, kind);
}

void Node::break_off(Rank from, Message kind) {
  if (failure_ || has_finished_) return;
  std::fprintf(stderr,
               "interweave: rank %u sent rank %u a message (%u) that breaks the protocol. The job "
               "ends. Start the same build at all ranks.\n",
               from, me_, static_cast<unsigned>(kind));
  fail({Status::failed, from});
}

// [DSM-PULL-3]
void Node::needs_no_interval(Rank asker, PageNumber page) {
  if (failure_ || has_finished_) return;
  std::fprintf(
      stderr,
      "interweave: rank %u asked for page %llu with stores of rank %u that never were. The "
      "job ends. Start the same build at all ranks.\n",
      asker, static_cast<unsigned long long>(page), me_);
  fail({Status::failed, asker});
}

bool Node::serve(Message kind, Rank from, Bytes header, Bytes payload) {
  if (kind == Message::tell_job) return serve_job(from, header, payload);
  return is_serving_ && receiver_.take(kind, from, header, payload);
}

// The job.

bool Node::serve_job(Rank from, Bytes header, Bytes payload) {
  JobHead head;
  if (!read_whole(header, &head)) return false;
  if (head.job >= Job::collect) {
    try {
      return is_serving_ && serve_collection(from, head.job, payload);
    } catch (const std::logic_error&) {
      // An interval was left out.
      return false;
    }
  }
  if (!payload.empty()) return false;
  switch (head.job) {
    case Job::begin:
      return take_begin(from, head);
    case Job::begun:
      if (from != 0 || !is_serving_) return false;
      has_begun_ = true;
      return true;
    case Job::finish:
      return take_finish(from);
    case Job::finished:
      if (from != 0 || !is_finishing_) return false;
      has_finished_ = true;
      head.job = Job::left;
      tell_job(0, head);
      return true;
    case Job::left:
      if (me_ != 0 || !has_finished_) return false;
      is_gone_[from] = true;
      return true;
    case Job::end:
      return take_end(head);
    default:
      return false;
  }
}

bool Node::take_begin(Rank from, const JobHead& head) {
  if (me_ != 0 || begun_[from]) return false;
  begun_[from] = head;
  if (++begun_count_ == ranks_) compare_beginnings();
  return true;
}

// [DSM-START-2]
void Node::compare_beginnings() {
  const JobHead& first = *begun_[0];
  for (Rank rank = 1; rank < ranks_; rank++) {
    const JobHead& other = *begun_[rank];
    const char* differs = other.replay_hash != first.replay_hash ? "allocations"
                          : other.end != first.end               ? "allocated pages"
                          : other.homes_hash != first.homes_hash ? "homes of pages"
                                                                 : nullptr;
    if (differs == nullptr) continue;
    std::fprintf(stderr,
                 "interweave: before the first barrier the %s of rank %u differ from those of rank "
                 "0. All ranks must make the same calls in the same order.\n",
                 differs, rank);
    return fail({Status::bad_argument, rank});
  }
  JobHead head{};
  head.job = Job::begun;
  tell_job_to_others(head);
  has_begun_ = true;
}

// [DSM-END-1]
bool Node::take_finish(Rank from) {
  if (me_ != 0 || finished_[from]) return false;
  finished_[from] = true;
  finished_count_++;
  if (finished_count_ < ranks_) return true;
  JobHead head{};
  head.job = Job::finished;
  tell_job_to_others(head);
  has_finished_ = true;
  return true;
}

// [DSM-END-2]
bool Node::take_end(const JobHead& head) {
  const auto status = static_cast<Status>(head.status);
  const bool is_sound = head.rank < ranks_ && status > Status::pending && status <= Status::refused;
  if (is_sound) end_job({status, static_cast<Rank>(head.rank)}, false);
  return is_sound;
}

// A rank that all have let go may leave. Before rank 0's word has arrived, another rank may have
// left by it already, so rank 0 alone judges.
void Node::on_death(fabric::PeerId peer) {
  const std::optional<Rank> rank = mail_.rank_of(peer);
  if (!rank) return;
  is_gone_[*rank] = true;
  if (is_finishing_ && me_ != 0 && *rank != 0) return;
  fail({Status::peer_dead, *rank});
}

}  // namespace iw::dsm
