// The names of segments, kept by the founder. Who claims a name first is its creator; the others
// wait until it has decided what the name stands for. If it dies, fails or renounces, the next is
// the creator.
//
// A name stands for one segment: who could not reach that one's nodes is its next creator only when
// one of them is gone, and waits for that news. Not reaching a node is no proof of its end.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ddss/layout.h"
#include "ddss/questions.h"
#include "platform/mutex.h"

namespace iw::ddss {

class Names {
 public:
  // key 0: the caller is to create it.
  using Answer = std::function<void(Caller, Key)>;
  using IsPresent = std::function<bool(NodeNumber)>;
  Names(Answer answer, IsPresent is_present)
      : answer_(std::move(answer)), is_present_(std::move(is_present)) {}

  // `number`: the calling node's, of this claim.
  void claim(const std::string& name, std::uint64_t number, const Finding& found, Caller caller);
  // The claim's answer will not be used.
  void renounce(const std::string& name, std::uint64_t number, fabric::PeerId peer);
  // 0: it came to nothing.
  void decide(const std::string& name, Key key);
  void drop(Key key);
  // After is_present says so.
  void note_death(fabric::PeerId peer);

 private:
  struct Claim {
    std::uint64_t number = 0;
    Finding found;
    Caller caller;
    bool is_of(std::uint64_t its_number, fabric::PeerId peer) const {
      return number == its_number && caller.peer == peer;
    }
  };
  struct Name {
    Key key = 0;  // 0: being created, by:
    Claim creator;
    std::deque<Claim> waiting;    // for what the name will stand for
    std::vector<Claim> doubting;  // whether what it stands for is still there
  };
  using Table = std::map<std::string, Name>;
  bool is_over(const Finding& found) const;
  void take(Name& name, const Claim& claim) IW_REQUIRES(mutex_);
  void make_creator(Name& name, const Claim& claim) IW_REQUIRES(mutex_);
  void pass_on(Table::iterator name) IW_REQUIRES(mutex_);
  void reconsider(Name& name) IW_REQUIRES(mutex_);

  Answer answer_;
  IsPresent is_present_;
  platform::Mutex mutex_;
  Table names_ IW_GUARDED_BY(mutex_);
};

}  // namespace iw::ddss
