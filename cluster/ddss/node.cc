// A node's birth and end, and its answers to the other nodes. Who takes part: node_members.cc.
#include "ddss/node.h"

#include <algorithm>

#include "ddss/questions.h"

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

std::unique_ptr<Node> Node::open(const NodeOptions& options, int* error) {
  std::unique_ptr<Node> node(new Node(options));
  *error = node->start();
  if (*error == 0) *error = node->meet();
  return *error == 0 ? std::move(node) : nullptr;
}

int Node::start() {
  constexpr std::size_t pool_bytes_max = std::size_t{1} << 40;
  if (options_.pool_bytes > pool_bytes_max) return DDSS_EARGUMENT;
  std::string why;
  fabric::Options wanted;
  wanted.spin = options_.spin;
  fabric_ = fabric::Fabric::open(wanted, &why);
  if (fabric_ == nullptr) return DDSS_EUNREACHABLE;
  Status status;
  pool_ = fabric_->allocate(heap_begin + options_.pool_bytes, &status);
  if (pool_ == nullptr) return DDSS_EMEMORY;
  worker_ = fabric_->add_worker(&status);
  if (worker_ == nullptr) return error_of(status);
  directory_ = std::make_unique<Directory>(pool_->bytes());
  names_ = std::make_unique<Names>(
      [this](Caller caller, Key key) { calls_->answer(caller, NameAnswer{key}); },
      [this](NodeNumber number) { return members_->is_present(number); });
  members_ = std::make_unique<Members>(*worker_, options_.timeout);
  hear_of_members();
  calls_ = std::make_unique<Calls>(
      *worker_, [this](Question question, fabric::Bytes asked, fabric::Bytes payload,
                       Caller caller) { serve(question, asked, payload, caller); });
  return 0;
}

// Handlers run until the worker is closed, and windows go before it.
Node::~Node() {
  is_leaving_ = true;
  if (calls_ != nullptr) calls_->end();
  recoveries_.end();
  meetings_.end();
  abandon_operations();
  {
    const std::unique_lock held(segments_mutex_);
    segments_.clear();
  }
  if (members_ != nullptr) members_->close_links();
  fabric::close_worker(&worker_);
}

int Node::meet() {
  if (!options_.join.empty()) {
    return from_text(options_.join, &founder_) ? join() : DDSS_EARGUMENT;
  }
  const fabric::Deadline deadline = fabric::Clock::now() + options_.timeout;
  std::string why;
  rendezvous_ = fabric::Rendezvous::open(deadline, &why);
  if (rendezvous_ == nullptr) return DDSS_EUNREACHABLE;
  if (rendezvous_->rank() == 0) found();
  if (rendezvous_->size() == 1) return 0;
  std::vector<std::vector<std::byte>> everybodys;
  const Status status = rendezvous_->exchange(worker_->address().bytes, deadline, &everybodys);
  if (status != Status::ok) return error_of(status);
  int error = 0;
  if (rendezvous_->rank() != 0) {
    error = read(everybodys.at(0), &founder_) ? join() : DDSS_EUNREACHABLE;
  }
  return error != 0 ? error : await_nodes(static_cast<int>(rendezvous_->size()));
}

void Node::found() {
  founder_ = worker_->address();
  address_ = to_text(founder_);
  members_->add(0, founder_, pool_->key());
  number_ = 0;
}

int Node::join() {
  address_ = to_text(founder_);
  const fabric::Deadline deadline = fabric::Clock::now() + options_.timeout;
  fabric::PeerId peer = 0;
  Status status = worker_->connect(founder_, deadline, &peer);
  JoinAnswer answer{};
  if (status == Status::ok) {
    status = calls_->ask(peer, Question::join, JoinAsked{worker_->address()}, &answer, deadline,
                         pool_->key());
  }
  if (status != Status::ok) return error_of(status);
  if (answer.error != 0) return answer.error;
  members_->note_joined(static_cast<NodeNumber>(answer.number), answer.deaths);
  number_ = static_cast<int>(answer.number);
  // The founder may have gone with his answer.
  const fabric::Exclusion held(*worker_);
  if (!unmet().empty()) meetings_.run([this] { meet_after_loss(); });
  return 0;
}

int Node::await_nodes(int count) {
  const auto are_there = [&] { return nodes() >= count; };
  return error_of(worker_->wait(are_there, fabric::Clock::now() + options_.timeout));
}

bool Node::is_present(NodeNumber number) const { return members_->is_present(number); }

void Node::serve(Question question, fabric::Bytes asked, fabric::Bytes payload, Caller caller) {
  CreateAsked create;
  DescribeAsked describe;
  ReserveAsked reserve;
  KeyAsked key;
  StoreAsked store;
  DescriptorAnswer answer;
  if (question == Question::join) {
    serve_join(asked, payload, caller);
  } else if (question == Question::claim || question == Question::renounce) {
    serve_claims(question, asked, caller);
  } else if (question == Question::settle) {
    serve_names(asked, caller);
  } else if (question == Question::create && read(asked, &create)) {
    answer.error =
        directory_->create(static_cast<NodeNumber>(create.home), create.wanted, &answer.descriptor);
    calls_->answer(caller, answer);
  } else if (question == Question::describe && read(asked, &describe)) {
    answer.error = directory_->describe(describe.made);
    calls_->answer(caller, answer);
  } else if (question == Question::reserve && read(asked, &reserve)) {
    ReserveAnswer reserved{};
    reserved.error = directory_->reserve(reserve.key, reserve.bytes, &reserved.offset);
    calls_->answer(caller, reserved);
  } else if (question == Question::release && read(asked, &key)) {
    answer.error = directory_->release(key.key, &answer.descriptor);
    calls_->answer(caller, answer);
  } else if (question == Question::survey && read(asked, &key)) {
    calls_->answer(caller, survey_here(key.key));
  } else if (question == Question::store && read(asked, &store)) {
    calls_->answer(caller, StoreAnswer{directory_->store(store.what, store.offset, payload)});
  }
}

void Node::serve_claims(Question question, fabric::Bytes asked, Caller caller) {
  ClaimAsked claim;
  if (number_ != 0 || !read(asked, &claim)) return;
  const std::string text = name_of(claim.name);
  if (question == Question::claim) {
    names_->claim(text, claim.claim, claim.found, caller);
  } else {
    names_->renounce(text, claim.claim, caller.peer);
  }
}

void Node::serve_names(fabric::Bytes asked, Caller caller) {
  NameAsked name;
  if (number_ != 0 || !read(asked, &name)) return;
  const std::string text = name_of(name.name);
  if (text.empty()) {
    names_->drop(name.key);
  } else {
    names_->settle(text, name.key);
  }
  calls_->answer(caller, NameAnswer{name.key});
}

Survey Node::survey_here(Key key) {
  const auto segment = known(key);
  return segment == nullptr ? Survey{} : segment->survey();
}

}  // namespace iw::ddss
