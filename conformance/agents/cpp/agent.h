// The commands of conformance/README.md, obeyed through the C functions only.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "interweave.h"
#include "json.h"
#include "listening.h"
#include "types.h"
#include "values.h"

namespace agent {

// The words of a command, taken one after another; the last one may be all that is left.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}
  std::string next();
  std::string_view rest() const { return rest_; }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

class Agent {
 public:
  Agent();
  // One line of answer for one line of command.
  std::string obey(std::string_view line);

 private:
  using Command = std::string (Agent::*)(Words&);

  struct Segment {
    IW_handle_t handle = nullptr;
    std::string url;
    Listening* listening = nullptr;
  };

  std::string hello(Words&);
  std::string types(Words& words);
  std::string open(Words& words);
  std::string close(Words& words);
  std::string reset(Words& words);
  std::string rl(Words& words);
  std::string rl_release(Words& words);
  std::string wl(Words& words);
  std::string wl_release(Words& words);
  std::string wl_abort(Words& words);
  std::string coherence(Words& words);
  std::string version(Words& words);
  std::string staleness(Words& words);
  std::string refresh(Words& words);
  std::string messages(Words& words);
  std::string listen(Words& words);
  std::string told(Words& words);
  std::string make(Words& words);
  std::string free(Words& words);
  std::string get(Words& words);
  std::string put(Words& words);
  std::string mip(Words& words);
  std::string resolve(Words& words);
  std::string dump(Words& words);

  Segment& segment(Words& words);
  // The unit at BLOCK[#OFFSET][/UNIT...].
  Unit unit(const Segment& in, const std::string& place);

  std::map<std::string, Command, std::less<>> commands_;
  std::map<std::string, Segment> segments_;
  // The library may still be calling one whose segment is being closed: they stay.
  std::deque<Listening> listenings_;
  Types types_;
};

}  // namespace agent
