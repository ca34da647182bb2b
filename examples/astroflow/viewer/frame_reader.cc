#include "viewer/frame_reader.h"

#include <algorithm>
#include <chrono>

#include "solver/checksum.h"
#include "viewer/steering.h"

namespace astroflow {
namespace {

// Short enough for the keyboard to stay alive while the server does not.
constexpr double kLock_s = 0.25;

}  // namespace

bool FrameReader::open(const std::string& url, const command_line::CoherenceChoice& coherence) {
  return segment_.open(url, coherence);
}

FrameReader::Outcome FrameReader::read() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point began = Clock::now();
  segment_.take_events();
  if (IW_rl_acquire_for(segment_.handle(), kLock_s, 0) != 0) {
    if (segment_.is_lost()) {
      copied_version_ = 0;
      if (segment_.reopen()) return Outcome::kSilent;
    }
    return may_pass() ? Outcome::kSilent : Outcome::kFailed;
  }
  const Outcome outcome = copy_frame();
  IW_rl_release(segment_.handle());
  if (outcome == Outcome::kNew) {
    update_ms_.add(std::chrono::duration<double, std::milli>(Clock::now() - began).count());
  }
  return outcome;
}

FrameReader::Outcome FrameReader::copy_frame() {
  const uint64_t version = segment_.version();
  if (version == copied_version_) return version == 0 ? Outcome::kNothing : Outcome::kSame;
  if (!segment_.find_blocks()) {
    return segment_.is_foreign() ? Outcome::kForeign : Outcome::kNothing;
  }
  const bool first = copied_version_ == 0;
  if (first) first_version_ = version;
  if (first || segment_.header().frame != frame_.header.frame) ++frames_seen_;
  ++versions_seen_;
  copied_version_ = frame_.version = version;
  frame_.header = segment_.header();
  std::copy_n(segment_.arrays().density, frame_.density.size(), frame_.density.begin());
  return Outcome::kNew;
}

bool FrameReader::steer(char key) {
  if (IW_wl_acquire_for(segment_.handle(), kLock_s) != 0) return false;
  if (!segment_.find_blocks()) {
    IW_wl_abort(segment_.handle());
    return false;
  }
  flow_header& header = segment_.header();
  Wants wants{header.want_pause != 0, header.want_restart != 0, header.want_problem,
              header.want_cfl};
  apply_key(key, wants);
  header.want_pause = wants.pause;
  header.want_restart = wants.restart;
  header.want_problem = static_cast<flow_problem>(wants.problem);
  header.want_cfl = wants.cfl;
  ++header.request;
  return segment_.release();
}

std::string FrameReader::checksum_of_copy() {
  if (!segment_.has_blocks() || IW_rl_acquire_for(segment_.handle(), kLock_s, 0) != 0) return {};
  std::string text = checksum_text(kSharedGrid, segment_.arrays());
  IW_rl_release(segment_.handle());
  return text;
}

}  // namespace astroflow
