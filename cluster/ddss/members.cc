#include "ddss/members.h"

#include <algorithm>
#include <utility>

namespace iw::ddss {
namespace {

// A number for a node. Sums of different sets of nodes are almost certainly different. All numbers
// are even, so adding 1 to a sum gives a number that stands for no set (Lock::give_up).
std::uint64_t sign_of(NodeNumber number) {
  std::uint64_t mixed = (number + 1) * 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u;
  return (mixed ^ mixed >> 32) & ~std::uint64_t{1};
}

}  // namespace

void Members::add(NodeNumber number, const fabric::Address& address, fabric::Bytes memory_key) {
  const platform::MutexLock held(mutex_);
  const auto [found, is_new] = members_.try_emplace(number);
  if (!is_new) return;
  found->second.address = address;
  found->second.memory_key.assign(memory_key.begin(), memory_key.end());
}

void Members::note_joined(NodeNumber own, std::uint64_t deaths) {
  own_ = own;
  deaths_ += deaths;
}

bool Members::note_gone(NodeNumber number) {
  const platform::MutexLock held(mutex_);
  // A node with a lower unknown number was gone before this node came. A node with a higher one was
  // gone before the news of its coming arrived here.
  const bool is_late = members_.empty() || number < members_.rbegin()->first;
  if (is_late && !members_.contains(number)) return false;
  Member& member = members_[number];
  if (std::exchange(member.is_gone, true)) return false;
  deaths_ += sign_of(number);
  return true;
}

std::optional<NodeNumber> Members::number_of(const fabric::Address& address) const {
  const platform::MutexLock held(mutex_);
  for (const auto& [number, member] : members_) {
    if (member.address == address) return number;
  }
  return std::nullopt;
}

// Returns the link or, if this node has no link to that one yet, what is needed to make it.
int Members::find(NodeNumber number, NodeLink* link, Introduction* introduction) const {
  const platform::MutexLock held(mutex_);
  const auto found = members_.find(number);
  if (found == members_.end() || found->second.is_gone) return DDSS_ENODE;
  const Member& member = found->second;
  *link = NodeLink{&worker_, member.peer, member.window.get(), timeout_};
  if (link->window == nullptr) *introduction = {number, member.address, member.memory_key};
  return 0;
}

bool Members::is_known(NodeNumber number) const {
  const platform::MutexLock held(mutex_);
  return members_.contains(number);
}

int Members::link(NodeNumber number, std::chrono::milliseconds timeout, NodeLink* link) {
  const bool may_be_under_way = number > own_ && number < nodes_max;
  if (may_be_under_way && !is_known(number)) {
    worker_.wait([&] { return is_known(number); }, fabric::Clock::now() + timeout);
  }
  Introduction introduction;
  const int error = find(number, link, &introduction);
  if (error != 0 || link->window != nullptr) return error;
  fabric::PeerId peer = 0;
  fabric::Status status =
      worker_.connect(introduction.address, fabric::Clock::now() + timeout, &peer);
  if (status != fabric::Status::ok) return error_of(status);
  auto window = worker_.open(peer, introduction.memory_key, &status);
  if (window == nullptr) return error_of(status);
  {
    const platform::MutexLock held(mutex_);
    Member& member = members_.at(number);
    member.peer = peer;
    if (member.window == nullptr)
      member.window = std::move(window);  // else another thread was faster
  }
  return find(number, link, &introduction);
}

std::vector<NodeNumber> Members::numbers(bool that_are_gone) const {
  const platform::MutexLock held(mutex_);
  std::vector<NodeNumber> found;
  for (const auto& [number, member] : members_) {
    if (member.is_gone == that_are_gone) found.push_back(number);
  }
  return found;
}

std::vector<NodeNumber> Members::present() const { return numbers(false); }
std::vector<NodeNumber> Members::gone() const { return numbers(true); }

NodeNumber Members::first_present() const {
  const auto all = present();
  return all.empty() ? nodes_max : all.front();
}

NodeNumber Members::newest() const {
  const platform::MutexLock held(mutex_);
  return members_.empty() ? NodeNumber{0} : members_.rbegin()->first;
}

bool Members::is_present(NodeNumber number) const {
  const platform::MutexLock held(mutex_);
  const auto found = members_.find(number);
  return found != members_.end() && !found->second.is_gone;
}

bool Members::is_gone(NodeNumber number) const {
  const platform::MutexLock held(mutex_);
  const auto found = members_.find(number);
  return found == members_.end() ? number < own_ : found->second.is_gone;
}

void Members::close_links() {
  std::vector<std::unique_ptr<fabric::Window>> windows;
  const platform::MutexLock held(mutex_);
  for (auto& [number, member] : members_) windows.push_back(std::move(member.window));
}

std::size_t Members::count() const {
  const platform::MutexLock held(mutex_);
  return static_cast<std::size_t>(std::count_if(
      members_.begin(), members_.end(), [](const auto& each) { return !each.second.is_gone; }));
}

std::vector<Members::Introduction> Members::introductions() const {
  const platform::MutexLock held(mutex_);
  std::vector<Introduction> all;
  for (const auto& [number, member] : members_) {
    if (!member.is_gone) all.push_back({number, member.address, member.memory_key});
  }
  return all;
}

}  // namespace iw::ddss
