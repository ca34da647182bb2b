// The names of segments, which the founder keeps. The first node that claims a name is its creator.
// The others wait until the creator has decided what the name stands for. If the creator dies,
// fails or renounces, the node that waits longest is the creator [DDSS-NAME-2].
//
// A name stands for one segment. A node that could not reach the segment becomes the next creator
// only when one of the segment's nodes is gone, because not reaching a node does not prove its end
// [DDSS-NAME-3].
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
  // key 0: the caller is to create the segment.
  using Answer = std::function<void(Caller, Key)>;
  using IsPresent = std::function<bool(NodeNumber)>;
  Names(Answer answer, IsPresent is_present)
      : answer_(std::move(answer)), is_present_(std::move(is_present)) {}

  // `number` tells this claim from others of the same node.
  void claim(const std::string& name, std::uint64_t number, const Finding& found, Caller caller);
  // The claim is never answered [DDSS-NAME-4].
  void renounce(const std::string& name, std::uint64_t number, fabric::PeerId peer);
  // By the creator. Key 0: it made no segment.
  void decide(const std::string& name, Key key);
  void drop(Key key);
  // REQUIRES: is_present() says already that the node is gone.
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
    Key key = 0;  // 0: `creator` is creating the segment
    Claim creator;
    std::deque<Claim> waiting;    // until the name is decided
    std::vector<Claim> doubting;  // could not reach the segment
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
