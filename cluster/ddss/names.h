// The names of segments, kept by the founder. Who claims a name first is its creator; the others
// wait until it has settled what the name stands for. If it dies, or fails, the next is the
// creator.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "ddss/calls.h"
#include "ddss/layout.h"

namespace iw::ddss {

class Names {
 public:
  // key 0: the caller is to create it.
  using Answer = std::function<void(Caller, Key)>;
  explicit Names(Answer answer) : answer_(std::move(answer)) {}

  // `not_this`: a key that the caller found dead, or 0.
  void claim(const std::string& name, Key not_this, Caller caller);
  // 0: it came to nothing.
  void settle(const std::string& name, Key key);
  void drop(Key key);
  void note_death(fabric::PeerId peer);

 private:
  struct Name {
    Key key = 0;  // 0: being created, by:
    Caller creator;
    std::deque<Caller> waiting;
  };
  using Table = std::map<std::string, Name>;
  void pass_on(Table::iterator name);

  Answer answer_;
  std::mutex mutex_;
  Table names_;
};

}  // namespace iw::ddss
