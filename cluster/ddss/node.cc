// A node's beginning and end, and its answers to other nodes. The members: node_members.cc.
#include "ddss/node.h"

#include <algorithm>

#include "ddss/serving.h"

namespace iw::ddss {
namespace {

using fabric::Status;
using fabric::Worker;

std::string to_text(const fabric::Address& address) {
  std::string text;
  for (const std::byte byte : address.bytes) {
    constexpr char digits[] = "0123456789abcdef";
    text += digits[static_cast<unsigned>(byte) >> 4];
    text += digits[static_cast<unsigned>(byte) & 15];
  }
  return text;
}

bool from_text(const std::string& text, fabric::Address* address) {
  if (text.size() != 2 * address->bytes.size()) return false;
  for (std::size_t i = 0; i < address->bytes.size(); i++) {
    const auto digit = [&](std::size_t at) {
      const char c = text[at];
      return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    };
    const int high = digit(2 * i), low = digit(2 * i + 1);
    if (high < 0 || low < 0) return false;
    address->bytes[i] = static_cast<std::byte>(high * 16 + low);
  }
  return true;
}

}  // namespace

std::unique_ptr<Node> Node::open(const NodeOptions& options, Failure* failure) {
  std::unique_ptr<Node> node(new Node(options));
  *failure = {};
  failure->error = node->start(&failure->why);
  if (failure->error == 0) failure->error = node->meet(&failure->why);
  return failure->error == 0 ? std::move(node) : nullptr;
}

int Node::start(std::string* why) {
  constexpr std::size_t pool_bytes_max = std::size_t{1} << 40;
  if (options_.pool_bytes > pool_bytes_max) {
    *why = "a pool has at most 1 TiB";
    return DDSS_EARGUMENT;
  }
  // Comes first, because the fabric takes the key of the job that has met.
  if (options_.join.empty()) {
    rendezvous_ = fabric::Rendezvous::open(fabric::Clock::now() + options_.timeout, why);
    if (rendezvous_ == nullptr) return DDSS_EUNREACHABLE;
  }
  fabric::Options wanted;
  wanted.spin = options_.spin;
  fabric_ = fabric::Fabric::open(wanted, why);
  if (fabric_ == nullptr) return DDSS_EUNREACHABLE;
  Status status;
  pool_ = fabric_->allocate(heap_begin + options_.pool_bytes, &status);
  if (pool_ == nullptr) {
    *why = "no pool of " + std::to_string(options_.pool_bytes) +
           " bytes can be had: " + fabric::to_string(status);
    return DDSS_EMEMORY;
  }
  worker_ = fabric_->add_worker(&status);
  if (worker_ == nullptr) return error_of(status);
  directory_ = std::make_unique<Directory>(pool_->bytes());
  names_ = std::make_unique<Names>(
      [this](Caller caller, Key key) { questions_->answer(caller, NameAnswer{key}); },
      [this](NodeNumber number) { return members_->is_present(number); });
  members_ = std::make_unique<Members>(*worker_, options_.timeout);
  hear_of_members();
  questions_ = std::make_unique<Questions>(
      *worker_, [this](Question question, fabric::Bytes asked, fabric::Bytes payload,
                       Caller caller) { serve(question, asked, payload, caller); });
  return 0;
}

// Closes windows, then the worker, because handlers run until the worker is closed.
Node::~Node() {
  is_leaving_ = true;
  if (questions_ != nullptr) questions_->end();
  recoveries_.end();
  meetings_.end();
  abandon_operations();
  {
    const platform::WriterLock held(segments_mutex_);
    segments_.clear();
  }
  if (members_ != nullptr) members_->close_links();
  fabric::close_worker(&worker_);
}

int Node::meet(std::string* why) {
  if (!options_.join.empty()) {
    if (from_text(options_.join, &founder_)) return join(why);
    *why = "'" + options_.join + "' is not the address of a space";
    return DDSS_EARGUMENT;
  }
  const fabric::Deadline deadline = fabric::Clock::now() + options_.timeout;
  if (rendezvous_->rank() == 0) found();
  if (rendezvous_->size() == 1) return 0;
  std::vector<std::vector<std::byte>> everybodys;
  const Status status = rendezvous_->exchange(worker_->address().bytes, deadline, &everybodys);
  if (status != Status::ok) {
    *why = std::string("the processes of this job did not meet: ") + fabric::to_string(status);
    return error_of(status);
  }
  if (rendezvous_->rank() != 0) {
    const int error = read_whole(everybodys.at(0), &founder_) ? join(why) : DDSS_EUNREACHABLE;
    if (error != 0) return error;
  }
  const auto all = static_cast<int>(rendezvous_->size());
  const int error = await_nodes(all);
  if (error != 0) {
    *why = "of the " + std::to_string(all) + " processes of this job " + std::to_string(nodes()) +
           " became nodes in time";
  }
  return error;
}

void Node::found() {
  founder_ = worker_->address();
  address_ = to_text(founder_);
  members_->add(0, founder_, pool_->key());
  number_ = 0;
}

int Node::join(std::string* why) {
  address_ = to_text(founder_);
  const fabric::Deadline deadline = fabric::Clock::now() + options_.timeout;
  fabric::PeerId peer = 0;
  Status status = worker_->connect(founder_, deadline, &peer);
  JoinAnswer answer{};
  if (status == Status::ok) {
    status = questions_->ask(peer, Question::join, JoinAsked{worker_->address()}, &answer, deadline,
                             pool_->key());
  }
  if (status != Status::ok) {
    *why = std::string("the space's founder does not answer: ") + fabric::to_string(status);
    return error_of(status);
  }
  if (answer.error != 0) {
    *why = "no space takes nodes in at this address, or it has had as many as it may";
    return answer.error;
  }
  members_->note_joined(static_cast<NodeNumber>(answer.number), answer.deaths);
  number_ = static_cast<int>(answer.number);
  // The founder may have ended after its answer.
  const fabric::Exclusion held(*worker_);
  if (!unmet().empty()) meetings_.run([this] { meet_after_loss(); });
  return 0;
}

int Node::await_nodes(int count) {
  const auto are_there = [&] { return nodes() >= count; };
  return error_of(worker_->wait(are_there, fabric::Clock::now() + options_.timeout));
}

void Node::serve(Question question, fabric::Bytes asked, fabric::Bytes payload, Caller caller) {
  KeyAsked key;
  switch (question) {
    case Question::join:
      return serve_join(asked, payload, caller);
    case Question::claim:
    case Question::renounce:
    case Question::decide:
      if (number_ == 0) serve_names(*names_, *questions_, question, asked, caller);
      return;
    case Question::survey:
      if (read_whole(asked, &key)) questions_->answer(caller, survey_here(key.key));
      return;
    default:
      return serve_directory(*directory_, *questions_, question, asked, payload, caller);
  }
}

Survey Node::survey_here(Key key) {
  const auto segment = known(key);
  Survey found = segment == nullptr ? Survey{} : segment->survey();
  found.newest = members_->newest();
  return found;
}

}  // namespace iw::ddss
