// Takes frames out of the shared segment and puts steering requests into it.
//
// A reader lock is held only while the header and the density are copied; everything else works on
// that copy. Errors that may pass by themselves leave the last frame in place; so does a server
// that lost the segment, which is opened again.
#pragma once

#include <string>
#include <vector>

#include "reporting/summary.h"
#include "sharing/flow_segment.h"

namespace astroflow {

struct Frame {
  uint64_t version = 0;  // 0: none has been read yet
  flow_header header{};
  std::vector<double> density = std::vector<double>(kSharedGrid.cells());
};

class FrameReader {
 public:
  bool open(const std::string& url, const command_line::CoherenceChoice& coherence);

  enum class Outcome {
    kNew,      // frame() is of another version than before
    kSame,     // what frame() holds is recent enough
    kForeign,  // the segment holds something else
    kNothing,  // nobody has written into the segment yet
    kSilent,   // the server does not answer in time; see last_error()
    kFailed    // see last_error()
  };
  Outcome read();

  // Writes the request that belongs to a steering key. False: see last_error().
  bool steer(char key);

  const Frame& frame() const { return frame_; }
  const FlowSegment& segment() const { return segment_; }
  uint64_t first_version() const { return first_version_; }
  uint64_t versions_seen() const { return versions_seen_; }
  uint64_t frames_seen() const { return frames_seen_; }
  // How long a reader lock took that came with a new version, the copy included.
  const Samples& update_ms() const { return update_ms_; }
  // Of all six arrays as they are in the cached copy now; empty if it cannot be locked.
  std::string checksum_of_copy();

 private:
  Outcome copy_frame();

  FlowSegment segment_;
  Frame frame_;
  uint64_t copied_version_ = 0;  // of the segment as it is open now; 0: none yet
  uint64_t first_version_ = 0;
  uint64_t versions_seen_ = 0;
  uint64_t frames_seen_ = 0;
  Samples update_ms_;
};

}  // namespace astroflow
