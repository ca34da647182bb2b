// astroflow-simulator: computes frames and publishes each in the shared segment, whoever may look.
//
// The gas is computed in private memory and copied into the segment under the writer lock, so that
// the lock is held for the time of a copy, a viewer's request to steer never waits for a time step,
// and a lost connection costs nothing but the frame that was on its way. A server that comes back
// without the segment is given the next frame in a new one.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "command_line/stop_signal.h"
#include "reporting/summary.h"
#include "sharing/flow_segment.h"
#include "simulator/options.h"
#include "solver/checksum.h"

namespace astroflow {
namespace {

constexpr double kLock_s = 2;        // how long to wait for a lock before looking at signals
constexpr int kRetry_ms = 500;       // between attempts to reach a silent server
constexpr int kPausedLook_ms = 500;  // between looks at the header should no event come
constexpr double kProgress_s = 1;    // between progress lines

double now_s() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

class Simulator {
 public:
  explicit Simulator(const SimulatorOptions& options)
      : options_(options), simulation_(options.simulation) {}

  int run();

 private:
  enum class Outcome { kDone, kStopped, kFailed };

  bool frames_left() const { return options_.frames == 0 || frames_ < options_.frames; }
  Outcome compute_and_publish();
  // Copies the state into the segment, as one version; waits for a server that is away.
  Outcome publish(flow_status status);
  bool try_publish(flow_status status);
  void begin(flow_header& header);
  bool is_steered(const flow_header& header) const;
  void obey(flow_header& header);
  void describe(flow_header& header, flow_status status) const;
  Outcome wait_while_paused();
  bool steering_asked();
  void keep_pace(double frame_began_s);
  void progress();
  int fail() const;
  void summarise();

  SimulatorOptions options_;
  Simulation simulation_;
  command_line::StopSignal stop_;
  FlowSegment segment_;
  bool begun_ = false;
  bool paused_ = false;
  bool is_foreign_ = false;   // the segment is somebody else's
  uint64_t first_frame_ = 0;  // the segment's frame number when this simulator began
  uint64_t frames_ = 0;       // published by this simulator
  uint64_t releases_ = 0;
  double last_frame_ms_ = 0;
  double last_progress_s_ = 0;
  Samples compute_ms_, publish_ms_, frame_ms_;
};

int Simulator::run() {
  if (!segment_.open(options_.url, {command_line::CoherenceChoice::Model::kFull, 0})) return fail();
  if (!options_.quiet) {
    const std::string title(simulation_.current().title);
    std::printf("simulating %s into %s\n", title.c_str(), options_.url.c_str());
    std::fflush(stdout);
  }
  Outcome outcome = Outcome::kDone;
  while (outcome == Outcome::kDone && frames_left() && !stop_.requested()) {
    outcome = paused_ ? wait_while_paused() : compute_and_publish();
  }
  if (outcome == Outcome::kFailed) return fail();
  // The last of a given number of frames says so itself; otherwise one more version does, if the
  // server is there to take it.
  if (outcome == Outcome::kDone && frames_left() && begun_) try_publish(FLOW_FINISHED);
  summarise();
  return EXIT_SUCCESS;
}

Simulator::Outcome Simulator::compute_and_publish() {
  const double began_s = now_s();
  simulation_.advance_frame();
  const double computed_s = now_s();
  ++frames_;
  const Outcome outcome = publish(frames_left() ? FLOW_RUNNING : FLOW_FINISHED);
  const double published_s = now_s();
  compute_ms_.add((computed_s - began_s) * 1e3);
  publish_ms_.add((published_s - computed_s) * 1e3);
  last_frame_ms_ = (published_s - began_s) * 1e3;
  frame_ms_.add(last_frame_ms_);
  if (outcome == Outcome::kDone) {
    progress();
    if (frames_left()) keep_pace(began_s);
  }
  return outcome;
}

Simulator::Outcome Simulator::publish(flow_status status) {
  bool said = false;
  while (!try_publish(status)) {
    if (!said) {
      std::fprintf(stderr, "astroflow-simulator: %s; trying again\n", last_error().c_str());
      said = true;
    }
    if (!is_foreign_ && segment_.is_lost()) {
      begun_ = false;
      if (segment_.reopen()) continue;
    }
    if (is_foreign_ || !may_pass()) return Outcome::kFailed;
    command_line::wait_readable(stop_.fd(), -1, -1, kRetry_ms);
    if (stop_.requested()) return Outcome::kStopped;
  }
  if (said) std::fprintf(stderr, "astroflow-simulator: continues\n");
  return Outcome::kDone;
}

bool Simulator::try_publish(flow_status status) {
  if (IW_wl_acquire_for(segment_.handle(), kLock_s) != 0) return false;
  if (!segment_.find_or_allocate_blocks()) {
    is_foreign_ = segment_.is_foreign();
    IW_wl_abort(segment_.handle());
    return false;
  }
  flow_header& header = segment_.header();
  if (begun_) {
    obey(header);
  } else {
    begin(header);
  }
  copy_arrays(kSharedGrid, simulation_.gas(), segment_.arrays());
  describe(header, status);
  if (!segment_.release()) {
    if (!begun_) segment_.forget_blocks();
    return false;
  }
  begun_ = true;
  ++releases_;
  return true;
}

// The segment may be new, or left by an earlier simulator: then the frame numbers continue. It may
// also replace a segment that the server lost.
void Simulator::begin(flow_header& header) {
  if (releases_ == 0) first_frame_ = header.frame;
  header.obeyed = header.request;
  header.want_pause = paused_;
  header.want_restart = false;
  header.want_problem = static_cast<flow_problem>(simulation_.current().kind);
  header.want_cfl = simulation_.cfl();
}

void Simulator::obey(flow_header& header) {
  const unsigned breakdowns = simulation_.breakdowns();
  if (breakdowns != header.breakdowns) header.want_cfl = simulation_.cfl();
  if (!is_steered(header)) return;
  header.obeyed = header.request;
  paused_ = header.want_pause;
  simulation_.set_cfl(header.want_cfl);
  const auto wanted = problem_numbered(header.want_problem);
  const bool is_other = wanted && *wanted != simulation_.current().kind;
  if (wanted && (header.want_restart || is_other)) simulation_.start(*wanted);
  header.want_restart = false;
  header.want_problem = static_cast<flow_problem>(simulation_.current().kind);
  header.want_cfl = simulation_.cfl();
}

bool Simulator::is_steered(const flow_header& header) const {
  return header.request != header.obeyed || (header.want_pause != 0) != paused_ ||
         header.want_restart != 0 || header.want_cfl != simulation_.cfl() ||
         problem_numbered(header.want_problem) != simulation_.current().kind;
}

void Simulator::describe(flow_header& header, flow_status status) const {
  const Problem& problem = simulation_.current();
  header.nx = simulation_.grid().nx;
  header.ny = simulation_.grid().ny;
  header.problem = static_cast<flow_problem>(problem.kind);
  header.status = status == FLOW_RUNNING && paused_ ? FLOW_PAUSED : status;
  header.gamma = problem.gamma;
  header.cfl = simulation_.cfl();
  header.time = simulation_.time();
  header.end_time = problem.end_time;
  header.time_step = simulation_.time_step();
  header.total_mass = total(simulation_.grid(), simulation_.gas().density);
  header.total_energy = total(simulation_.grid(), simulation_.gas().energy);
  header.frame_ms = last_frame_ms_;
  header.step = simulation_.step();
  header.frame = first_frame_ + frames_;
  header.last_frame = options_.frames == 0 ? 0 : first_frame_ + options_.frames;
  header.breakdowns = simulation_.breakdowns();
}

// Asleep until the segment changes; a look now and then costs no message while it does not.
Simulator::Outcome Simulator::wait_while_paused() {
  while (!stop_.requested()) {
    command_line::wait_readable(segment_.event_fd(), stop_.fd(), -1, kPausedLook_ms);
    segment_.take_events();
    if (steering_asked()) return publish(FLOW_RUNNING);
  }
  return Outcome::kDone;
}

bool Simulator::steering_asked() {
  // Asked again later; publishing brings a lost segment back.
  if (IW_rl_acquire_for(segment_.handle(), kLock_s, 0) != 0) return segment_.is_lost();
  const bool asked = is_steered(segment_.header());
  IW_rl_release(segment_.handle());
  return asked;
}

void Simulator::keep_pace(double frame_began_s) {
  if (options_.max_fps <= 0) return;
  const double left_ms = (frame_began_s + 1 / options_.max_fps - now_s()) * 1e3;
  if (left_ms >= 1) command_line::wait_readable(stop_.fd(), -1, -1, static_cast<int>(left_ms));
}

void Simulator::progress() {
  if (options_.quiet || now_s() - last_progress_s_ < kProgress_s) return;
  last_progress_s_ = now_s();
  const std::string name(simulation_.current().name);
  std::printf("%s frame %llu version %llu t %.4f/%g step %llu frame %.1f ms\n", name.c_str(),
              static_cast<unsigned long long>(frames_),
              static_cast<unsigned long long>(segment_.version()), simulation_.time(),
              simulation_.current().end_time, static_cast<unsigned long long>(simulation_.step()),
              last_frame_ms_);
  std::fflush(stdout);
}

int Simulator::fail() const {
  const std::string why =
      is_foreign_ ? "it holds other data than a simulation's; choose another path" : last_error();
  std::fprintf(stderr, "astroflow-simulator: %s: %s\n", options_.url.c_str(), why.c_str());
  return EXIT_FAILURE;
}

void Simulator::summarise() {
  const Traffic traffic = segment_.traffic();
  Summary summary;
  summary.add("program", std::string_view("astroflow-simulator"));
  summary.add("problem", simulation_.current().name);
  summary.add("frames", frames_);
  summary.add("versions_written", releases_);
  summary.add("last_version", segment_.version());
  summary.add("time", simulation_.time());
  summary.add("bytes_sent", traffic.bytes_sent);
  summary.add("bytes_received", traffic.bytes_received);
  summary.add("frame_bytes", kFrameBytes);
  summary.add("bytes_in_memory", releases_ * kFrameBytes);
  summary.add("compute_ms_median", compute_ms_.median());
  summary.add("publish_ms_median", publish_ms_.median());
  summary.add("frame_ms_median", frame_ms_.median());
  summary.add("frame_ms_p90", frame_ms_.p90());
  summary.add("checksum", checksum_text(simulation_.grid(), simulation_.gas()));
  if (!options_.quiet) std::printf("astroflow-simulator\n%s", summary.as_lines().c_str());
  if (options_.summary_file.empty()) return;
  if (const auto why = write_summary(summary, options_.summary_file)) {
    std::fprintf(stderr, "astroflow-simulator: %s\n", why->c_str());
  }
}

}  // namespace
}  // namespace astroflow

int main(int argc, char** argv) {
  const astroflow::SimulatorCommand command = astroflow::parse_simulator_command(argc, argv);
  if (command.exit_status) return *command.exit_status;
  return astroflow::Simulator(command.options).run();
}
