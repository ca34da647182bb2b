// Who takes part: joining, and the news of those who came and went.
//
// The founder gives out the numbers and is connected to all. When it is gone, the present node of
// the lowest number takes over that every death becomes known to all: it and each other node
// connect with one another, and tell what they know then. So nobody's end is noticed by those only
// who happened to be connected with him.
#include "ddss/name_text.h"
#include "ddss/node.h"

namespace iw::ddss {
namespace {

// One that does not answer may be stopped, or gone: it is asked again.
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

// Before the worker's address is known to anyone.
void Node::hear_of_members() {
  hear<&Node::take_member>(member_id);
  hear<&Node::take_gone>(gone_id);
  hear<&Node::take_report>(report_id);
  worker_->on_death([this](fabric::PeerId peer) { note_death(peer); });
}

// The founder's: the newcomer hears of all before it has its answer.
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

// News are taken from members only; before this node is one, from the founder.
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

// Who has listeners tells them. If it is the one whom this node listened to, another takes over.
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

// The first, to the others: it tells them from now on. The others, to the first: they listen.
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

// Of one who listens from now on. The founder's end may have kept his arrival from some of us, and
// that of others from him.
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

// Whom this node must be connected with, and is not yet.
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

// The others come to the first. He goes to those who do not, since they may be gone, too.
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
