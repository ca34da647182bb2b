#include "ddss/names.h"

#include <algorithm>
#include <utility>

namespace iw::ddss {

bool Names::is_over(const Finding& found) const {
  if (found.loss == Loss::released) return true;
  return found.loss == Loss::unreachable && !std::ranges::all_of(found.lies_on, is_present_);
}

void Names::claim(const std::string& name, std::uint64_t number, const Finding& found,
                  Caller caller) {
  const platform::MutexLock held(mutex_);
  const auto [known, is_new] = names_.try_emplace(name);
  const Claim claim{number, found, caller};
  if (is_new) {
    make_creator(known->second, claim);
  } else {
    take(known->second, claim);
  }
}

void Names::take(Name& name, const Claim& claim) {
  if (name.key == 0) {
    name.waiting.push_back(claim);
  } else if (name.key != claim.found.key) {
    answer_(claim.caller, name.key);
  } else if (is_over(claim.found)) {
    make_creator(name, claim);
  } else {
    name.doubting.push_back(claim);
  }
}

void Names::make_creator(Name& name, const Claim& claim) {
  name.key = 0;
  name.creator = claim;
  answer_(claim.caller, 0);
}

void Names::renounce(const std::string& name, std::uint64_t number, fabric::PeerId peer) {
  const platform::MutexLock held(mutex_);
  const auto known = names_.find(name);
  if (known == names_.end()) return;
  const auto is_it = [&](const Claim& each) { return each.is_of(number, peer); };
  std::erase_if(known->second.waiting, is_it);
  std::erase_if(known->second.doubting, is_it);
  if (known->second.key == 0 && is_it(known->second.creator)) pass_on(known);
}

void Names::decide(const std::string& name, Key key) {
  const platform::MutexLock held(mutex_);
  const auto known = names_.find(name);
  if (known == names_.end() || known->second.key != 0) return;
  if (key == 0) return pass_on(known);
  known->second.key = key;
  for (const Claim& each : std::exchange(known->second.waiting, {})) take(known->second, each);
  reconsider(known->second);
}

// Makes the claim that waits longest the creator's.
void Names::pass_on(Table::iterator name) {
  auto& waiting = name->second.waiting;
  auto& doubting = name->second.doubting;
  waiting.insert(waiting.end(), doubting.begin(), doubting.end());
  doubting.clear();
  if (waiting.empty()) {
    names_.erase(name);
    return;
  }
  const Claim next = waiting.front();
  waiting.pop_front();
  make_creator(name->second, next);
}

void Names::reconsider(Name& name) {
  for (const Claim& each : std::exchange(name.doubting, {})) take(name, each);
}

void Names::drop(Key key) {
  const platform::MutexLock held(mutex_);
  for (auto each = names_.begin(); each != names_.end();) {
    const auto name = each++;
    if (key != 0 && name->second.key == key) pass_on(name);
  }
}

void Names::note_death(fabric::PeerId peer) {
  const platform::MutexLock held(mutex_);
  const auto is_its = [&](const Claim& each) { return each.caller.peer == peer; };
  for (auto each = names_.begin(); each != names_.end();) {
    const auto name = each++;
    std::erase_if(name->second.waiting, is_its);
    std::erase_if(name->second.doubting, is_its);
    if (name->second.key == 0 && is_its(name->second.creator)) {
      pass_on(name);
    } else {
      reconsider(name->second);
    }
  }
}

}  // namespace iw::ddss
