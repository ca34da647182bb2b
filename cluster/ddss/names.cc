#include "ddss/names.h"

namespace iw::ddss {

void Names::claim(const std::string& name, Key not_this, Caller caller) {
  const std::lock_guard held(mutex_);
  const auto [found, is_new] = names_.try_emplace(name);
  Name& known = found->second;
  if (is_new || (known.key != 0 && known.key == not_this)) {
    known.key = 0;
    known.creator = caller;
    answer_(caller, 0);
  } else if (known.key != 0) {
    answer_(caller, known.key);
  } else {
    known.waiting.push_back(caller);
  }
}

void Names::settle(const std::string& name, Key key) {
  const std::lock_guard held(mutex_);
  const auto found = names_.find(name);
  if (found == names_.end() || found->second.key != 0) return;
  if (key == 0) return pass_on(found);
  found->second.key = key;
  for (const Caller& each : found->second.waiting) answer_(each, key);
  found->second.waiting.clear();
}

// The one who waits longest is to create it.
void Names::pass_on(Table::iterator name) {
  if (name->second.waiting.empty()) {
    names_.erase(name);
    return;
  }
  name->second.creator = name->second.waiting.front();
  name->second.waiting.pop_front();
  answer_(name->second.creator, 0);
}

void Names::drop(Key key) {
  const std::lock_guard held(mutex_);
  std::erase_if(names_, [&](const auto& each) { return key != 0 && each.second.key == key; });
}

void Names::note_death(fabric::PeerId peer) {
  const std::lock_guard held(mutex_);
  for (auto each = names_.begin(); each != names_.end();) {
    const auto name = each++;
    std::erase_if(name->second.waiting, [&](const Caller& caller) { return caller.peer == peer; });
    if (name->second.key == 0 && name->second.creator.peer == peer) pass_on(name);
  }
}

}  // namespace iw::ddss
