// The shared segment as the two programs see it: a header and six arrays at ordinary addresses.
// Every call of the client library that both programs make is here.
#pragma once

#include <interweave.h>

#include <string>

#include "astroflow.h"
#include "command_line/coherence_choice.h"
#include "solver/flow_arrays.h"

namespace astroflow {

inline constexpr Grid kSharedGrid{FLOW_CELLS, FLOW_CELLS};
// The header and six arrays, as this machine lays them out.
inline constexpr uint64_t kFrameBytes = sizeof(flow_header) + kArrays * sizeof(field);

struct Traffic {
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
};

class FlowSegment {
 public:
  FlowSegment() = default;
  ~FlowSegment();
  FlowSegment(const FlowSegment&) = delete;
  FlowSegment& operator=(const FlowSegment&) = delete;

  // The calls return false on failure; last_error() then says why. `url` is opened, and created if
  // the segment does not exist yet.
  bool open(const std::string& url, const command_line::CoherenceChoice& coherence);

  // After a failure: the server came back without the segment. reopen() continues with what it has.
  bool is_lost() const;
  bool reopen();

  // Looks the seven blocks up; false as long as nobody has allocated them. Any lock.
  bool find_blocks();
  // The same, but allocates them if they are missing. Writer lock.
  bool find_or_allocate_blocks();
  // It has blocks, but not a simulation's. Any lock.
  bool is_foreign() const;
  // Gives the writer lock back. If it fails, the changes are undone, and the lock is gone as well.
  bool release();
  // The addresses were those of a release that was rolled back.
  void forget_blocks() { header_ = nullptr; }
  bool has_blocks() const { return header_ != nullptr; }

  // Only while has_blocks() and under a lock.
  flow_header& header() const { return *header_; }
  FlowArrays arrays() const { return arrays_; }

  IW_handle_t handle() const { return handle_; }
  uint64_t version() const { return IW_version(handle_); }
  double staleness_s() const;
  Traffic traffic() const;

  // Readable when something happened that take_events() should look at.
  int event_fd() const { return event_fd_; }
  void take_events() const { IW_dispatch(); }

 private:
  void* block(const char* name) const;
  double* field_block(const char* name, bool allocate, bool& ok);
  bool bind_blocks(bool allocate);

  std::string url_;
  command_line::CoherenceChoice coherence_;
  IW_handle_t handle_ = nullptr;  // null: not opened, or reopen() failed
  Traffic earlier_traffic_;       // of handles that were lost
  int event_fd_ = -1;
  flow_header* header_ = nullptr;
  FlowArrays arrays_;
};

// Whether the calling thread's last failure may pass by itself: a server that is silent, stopping
// or out of room, a writer lock lost on the way.
bool may_pass();
std::string last_error();

}  // namespace astroflow
