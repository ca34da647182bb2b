// The members of a space: joining, and the news of nodes that came and went [DDSS-MEMBER-1..4].
//
// The founder gives out the numbers and is connected with all nodes, so it hears of every death and
// tells the others. When the founder is gone, the present node with the lowest number does so. That
// node and each other one connect, and tell each other what they know. Without this, a node's death
// would be known only to nodes that happened to be connected with it.
#include "ddss/name_text.h"
#include "ddss/node.h"

namespace iw::ddss {
namespace {

// A node that does not answer may be stopped, or gone. It is asked again after this time.
constexpr std::chrono::seconds meeting_attempt{1};

}  // namespace

template <void (Node::*take)(const fabric::Message&)>
void Node::hear(fabric::MessageId id) {
  worker_->set_handler(
      id,
      [](void* self, const fabric::Message& message) {
        (static_cast<Node*>(self)->*take)(message);
      },
      this);
}

// REQUIRES: nobody knows the worker's address yet.
void Node::hear_of_members() {
  hear<&Node::take_member>(member_id);
  hear<&Node::take_gone>(gone_id);
  hear<&Node::take_report>(report_id);
  worker_->on_death([this](fabric::PeerId peer) { note_death(peer); });
}

// At the founder. The newcomer hears of all members before it is answered [DDSS-MEMBER-2].
void Node::serve_join(fabric::Bytes asked, fabric::Bytes payload, Caller caller) {
  JoinAsked join;
  const bool is_fit = number_ == 0 && read_whole(asked, &join) &&
                      join.address == worker_->peer_address(caller.peer) &&
                      payload.size() <= fabric::key_bytes_max && next_number_ < nodes_max &&
                      !members_->number_of(join.address);
  if (!is_fit) return questions_->answer(caller, JoinAnswer{DDSS_EARGUMENT, 0, 0});
  const auto number = static_cast<NodeNumber>(next_number_++);
  members_->add(number, join.address, payload);
  listeners_[number] = caller.peer;
  for (const auto& each : members_->introductions()) {
    introduce(caller.peer, each);
    if (each.number == number) introduce_to_all(each);
  }
  questions_->answer(caller, JoinAnswer{0, number, members_->deaths()});
}

void Node::introduce(fabric::PeerId to, const Members::Introduction& whom) {
  const MemberNews news{whom.address, whom.number};
  Questions::post(*worker_, to, member_id, bytes_of(news), whom.memory_key);
}

void Node::introduce_to_all(const Members::Introduction& whom) {
  for (const auto& [other, peer] : listeners_) {
    if (other != whom.number) introduce(peer, whom);
  }
}

// News count if a member sends them, or the founder before this node is a member [DDSS-MEMBER-3].
bool Node::is_from_member(const fabric::Message& message) const {
  const fabric::Address& from = worker_->peer_address(message.from);
  return from == founder_ || members_->number_of(from);
}

void Node::take_member(const fabric::Message& message) {
  MemberNews news;
  const bool is_fit = is_from_member(message) && read_whole(message.header, &news) &&
                      message.payload.size() <= fabric::key_bytes_max;
  if (is_fit) members_->add(static_cast<NodeNumber>(news.number), news.address, message.payload);
}

void Node::take_gone(const fabric::Message& message) {
  GoneNews news;
  const bool is_fit = is_from_member(message) && read_whole(message.header, &news);
  if (is_fit) note_gone(static_cast<NodeNumber>(news.number));
}

void Node::note_death(fabric::PeerId peer) {
  const auto number = members_->number_of(worker_->peer_address(peer));
  if (number) note_gone(*number);
  names_->note_death(peer);
}

// Tells the listeners. If the first present node is the one that is gone, the next takes its place.
void Node::note_gone(NodeNumber number) {
  const bool was_first = members_->first_present() == number;
  if (!members_->note_gone(number)) return;
  listeners_.erase(number);
  for (const auto& [other, peer] : listeners_) tell_gone(peer, number);
  if (was_first) meetings_.run([this] { meet_after_loss(); });
}

void Node::tell_gone(fabric::PeerId to, NodeNumber number) {
  Questions::post(*worker_, to, gone_id, bytes_of(GoneNews{number}), {});
}

void Node::tell_all_gone(fabric::PeerId to) {
  for (const NodeNumber each : members_->gone()) tell_gone(to, each);
}

// Between the first present node and another, once they are connected. The first tells the other
// one of deaths from now on. The other one listens to the first, and reports itself.
void Node::greet(NodeNumber whom, fabric::PeerId peer) {
  tell_all_gone(peer);
  if (whom > number()) {
    listeners_[whom] = peer;
    return;
  }
  listens_to_ = whom;
  const ReportNews report{worker_->address(), number(), members_->newest()};
  Questions::post(*worker_, peer, report_id, bytes_of(report), pool_->key());
}

// From a node that listens to this one from now on. When the founder ended, some nodes may not have
// heard of the sender's arrival, and the sender may not have heard of other arrivals.
void Node::take_report(const fabric::Message& message) {
  ReportNews news;
  const bool is_sound = read_whole(message.header, &news) &&
                        news.address == worker_->peer_address(message.from) &&
                        message.payload.size() <= fabric::key_bytes_max;
  if (!is_sound) return;
  const auto number = static_cast<NodeNumber>(news.number);
  if (!members_->is_known(number)) {
    members_->add(number, news.address, message.payload);
    introduce_to_all({number, news.address, {message.payload.begin(), message.payload.end()}});
  }
  if (members_->number_of(news.address) != number || !members_->is_present(number)) return;
  listeners_[number] = message.from;
  for (const auto& each : members_->introductions()) {
    if (each.number > news.newest) introduce(message.from, each);
  }
  tell_all_gone(message.from);
}

// The nodes that this node must still connect with.
std::vector<NodeNumber> Node::unmet() const {
  const NodeNumber first = members_->first_present();
  if (!members_->is_present(number())) return {};
  if (first != number()) {
    return first == listens_to_ ? std::vector<NodeNumber>{} : std::vector<NodeNumber>{first};
  }
  auto all = members_->present();
  std::erase_if(all, [&](NodeNumber each) { return each == first || listeners_.contains(each); });
  return all;
}

// The other nodes connect with the first one. It connects with those that do not come in time,
// because they may be gone, too.
void Node::meet_after_loss() {
  if (members_->first_present() == number()) {
    worker_->wait([this] { return is_leaving_ || unmet().empty(); },
                  fabric::Clock::now() + meeting_attempt);
  }
  while (!is_leaving_) {
    std::vector<NodeNumber> all;
    {
      const fabric::Exclusion held(*worker_);
      all = unmet();
    }
    if (all.empty()) return;
    for (const NodeNumber each : all) meet(each);
  }
}

void Node::meet(NodeNumber whom) {
  const fabric::Deadline until = fabric::Clock::now() + meeting_attempt;
  NodeLink link;
  const int error = is_leaving_ ? DDSS_ENOTINIT : members_->link(whom, meeting_attempt, &link);
  if (error == 0 || error == DDSS_ENODE) {
    const fabric::Exclusion held(*worker_);
    return error == 0 ? greet(whom, link.peer) : note_gone(whom);
  }
  worker_->wait([this] { return is_leaving_.load(); }, until);
}

}  // namespace iw::ddss
