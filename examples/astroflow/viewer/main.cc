// astroflow-viewer: shows the density of a simulation that shares its state, as often as the
// chosen coherence model brings news, and passes the user's wishes on to the simulator.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "command_line/stop_signal.h"
#include "command_line/terminal.h"
#include "exact/reference_error.h"
#include "solver/problems.h"
#include "viewer/frame_reader.h"
#include "viewer/options.h"
#include "viewer/png_file.h"
#include "viewer/status_line.h"
#include "viewer/steering.h"

namespace astroflow {
namespace {

using command_line::Terminal;

constexpr int kLook_ms = 50;          // the longest wait between looks at the segment and the keys
constexpr double kDraw_s = 1.0 / 30;  // between drawings: no terminal shows more
constexpr double kLogLine_s = 1;      // between lines where there is no terminal to draw on
constexpr double kMessage_s = 3;      // how long a message stays
constexpr double kSilence_s = 3;      // without a new frame before that is worth a word
constexpr double kGrace_s = 10;  // before a run that was over from the start counts as finished

double now_s() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

const Problem& problem_of(const flow_header& header) {
  return problem(problem_numbered(header.problem).value_or(ProblemKind::kSod));
}

class Viewer {
 public:
  explicit Viewer(const ViewerOptions& options);

  int run();

 private:
  bool look();
  void say_if_silent();
  bool enough();
  void take_keys();
  void take_key(char key);
  void show();
  void log_line();
  void save_png(const std::string& directory);
  void say(const std::string& message);
  ViewStatus status();
  std::optional<double> reference_error() const;
  std::optional<double> wire_to_memory();
  void summarise();

  ViewerOptions options_;
  command_line::StopSignal stop_;
  FrameReader reader_;
  std::optional<Terminal> terminal_;  // while it is ours
  Canvas canvas_;
  bool quit_ = false;
  bool seen_running_ = false;
  double first_look_s_ = 0;
  double last_shown_s_ = 0;
  double last_new_s_ = 0;
  double said_s_ = 0;
  std::string message_;
  RateMeter frame_rate_, byte_rate_;
};

ColourMode colour_mode(const ViewerOptions& options) {
  if (options.colour) return *options.colour;
  return colour_mode_for(true, std::getenv("TERM"), std::getenv("COLORTERM"),
                         std::getenv("NO_COLOR"));
}

Viewer::Viewer(const ViewerOptions& options)
    : options_(options), stop_(Terminal::restore), canvas_(colour_mode(options)) {}

int Viewer::run() {
  if (!options_.png_directory.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options_.png_directory, error);  // write_png will complain
  }
  if (!reader_.open(options_.url, options_.coherence)) {
    std::fprintf(stderr, "astroflow-viewer: %s: %s\n", options_.url.c_str(), last_error().c_str());
    return EXIT_FAILURE;
  }
  if (!options_.headless) terminal_.emplace();
  first_look_s_ = now_s();
  bool going_well = true;
  while (going_well && !quit_ && !stop_.requested()) {
    going_well = look();
    take_keys();
    show();
    if (!going_well || enough() || (terminal_ && terminal_->is_gone())) break;
    const bool keys = terminal_ && terminal_->has_keys();
    command_line::wait_readable(reader_.segment().event_fd(), stop_.fd(),
                                keys ? Terminal::key_fd() : -1, kLook_ms);
  }
  const std::string why = going_well ? std::string() : last_error();
  terminal_.reset();
  summarise();
  if (going_well) return EXIT_SUCCESS;
  std::fprintf(stderr, "astroflow-viewer: %s: %s\n", options_.url.c_str(), why.c_str());
  return EXIT_FAILURE;
}

bool Viewer::look() {
  switch (reader_.read()) {
    case FrameReader::Outcome::kNew:
      last_new_s_ = now_s();
      frame_rate_.note(now_s(), static_cast<double>(reader_.frames_seen()));
      if (!options_.png_directory.empty()) save_png(options_.png_directory);
      break;
    case FrameReader::Outcome::kNothing:
      say("waiting for a simulator");
      break;
    case FrameReader::Outcome::kSilent:
      say(last_error());
      break;
    case FrameReader::Outcome::kFailed:
      return false;
    case FrameReader::Outcome::kForeign:
      std::fprintf(stderr, "astroflow-viewer: %s holds other data than a simulation's\n",
                   options_.url.c_str());
      return false;
    case FrameReader::Outcome::kSame:
      frame_rate_.note(now_s(), static_cast<double>(reader_.frames_seen()));
      say_if_silent();
      break;
  }
  byte_rate_.note(now_s(), static_cast<double>(reader_.segment().traffic().bytes_received));
  return true;
}

// The copy is the newest version all the same: it is the simulator that writes none.
void Viewer::say_if_silent() {
  const uint32_t running = FLOW_RUNNING;
  const double silence_s = now_s() - last_new_s_;
  if (reader_.frame().header.status != running || silence_s < kSilence_s) return;
  say("no new frame for " + std::to_string(static_cast<int>(silence_s)) +
      " s; is the simulator running?");
}

bool Viewer::enough() {
  if (reader_.frame().version == 0) return false;
  if (options_.frames != 0 && reader_.frames_seen() >= options_.frames) return true;
  const bool finished = reader_.frame().header.status == FLOW_FINISHED;
  seen_running_ = seen_running_ || !finished;
  // A segment left by an earlier run says "finished" too, until the next simulator takes it up.
  return options_.until_finished && finished &&
         (seen_running_ || now_s() - first_look_s_ > kGrace_s);
}

void Viewer::take_keys() {
  if (!terminal_) return;
  while (const auto key = terminal_->key()) take_key(*key);
}

void Viewer::take_key(char key) {
  if (key == 'q') {
    quit_ = true;
  } else if (key == 's') {
    save_png(".");
  } else if (key == '?' || key == 'h') {
    say(key_line());
  } else if (is_steering_key(key) && reader_.frame().version != 0) {
    if (!reader_.steer(key)) say("not passed on: " + last_error());
  }
}

void Viewer::show() {
  const double now = now_s();
  if (!terminal_) return;
  if (!terminal_->is_drawable()) return log_line();
  if (now - last_shown_s_ < kDraw_s) return;
  last_shown_s_ = now;
  if (now - said_s_ > kMessage_s) message_.clear();
  const Problem& shown = problem_of(reader_.frame().header);
  terminal_->write(canvas_.frame(reader_.frame().density.data(), kSharedGrid,
                                 ColourMap(shown.low, shown.high), terminal_->size(),
                                 status_line(status())));
}

void Viewer::log_line() {
  const double now = now_s();
  if (now - last_shown_s_ < kLogLine_s) return;
  last_shown_s_ = now;
  if (now - said_s_ > kMessage_s) message_.clear();
  std::printf("%s\n", status_line(status()).c_str());
  std::fflush(stdout);
}

void Viewer::save_png(const std::string& directory) {
  if (reader_.frame().version == 0) return;
  std::string number = std::to_string(reader_.frame().header.frame);
  number.insert(0, number.size() < 6 ? 6 - number.size() : 0, '0');
  const std::string path = directory + "/frame-" + number + ".png";
  const Problem& shown = problem_of(reader_.frame().header);
  const auto why = write_png(path, reader_.frame().density.data(), kSharedGrid,
                             ColourMap(shown.low, shown.high));
  if (why) {
    say(*why);
  } else if (directory == ".") {
    say("saved " + path);
  }
}

void Viewer::say(const std::string& message) {
  message_ = message;
  said_s_ = now_s();
}

ViewStatus Viewer::status() {
  const Frame& frame = reader_.frame();
  ViewStatus status;
  status.problem = frame.version == 0 ? "no frame yet" : problem_of(frame.header).name;
  status.version = frame.version;
  status.frame = frame.header.frame;
  status.last_frame = frame.header.last_frame;
  status.time = frame.header.time;
  status.end_time = frame.header.end_time;
  status.cfl = frame.header.cfl;
  status.frames_per_s = frame_rate_.per_second();
  status.bytes_per_s = byte_rate_.per_second();
  status.bytes_received = reader_.segment().traffic().bytes_received;
  status.staleness_s = reader_.segment().staleness_s();
  status.paused = frame.header.status == FLOW_PAUSED;
  status.finished = frame.header.status == FLOW_FINISHED;
  status.breakdowns = frame.header.breakdowns;
  status.message = message_;
  return status;
}

std::optional<double> Viewer::reference_error() const {
  const Frame& frame = reader_.frame();
  const ShockTube* tube = problem_of(frame.header).tube;
  if (frame.version == 0 || tube == nullptr) return std::nullopt;
  return mean_density_error(*tube, frame.density.data(), kSharedGrid.nx, kSharedGrid.ny,
                            frame.header.time);
}

// Bytes received for each byte of the versions seen.
std::optional<double> Viewer::wire_to_memory() {
  if (reader_.versions_seen() == 0) return std::nullopt;
  return static_cast<double>(reader_.segment().traffic().bytes_received) /
         static_cast<double>(reader_.versions_seen() * kFrameBytes);
}

void Viewer::summarise() {
  const Frame& frame = reader_.frame();
  const bool any = frame.version != 0;
  const Traffic traffic = reader_.segment().traffic();
  Summary summary;
  summary.add("program", std::string_view("astroflow-viewer"));
  summary.add("problem", any ? problem_of(frame.header).name : std::string_view("none"));
  summary.add("versions_written", any ? frame.version - reader_.first_version() + 1 : 0);
  summary.add("versions_seen", reader_.versions_seen());
  summary.add("frames_seen", reader_.frames_seen());
  summary.add("first_version", reader_.first_version());
  summary.add("last_version", frame.version);
  summary.add("last_frame", uint64_t{frame.header.frame});
  summary.add("time", frame.header.time);
  summary.add("bytes_sent", traffic.bytes_sent);
  summary.add("bytes_received", traffic.bytes_received);
  summary.add("frame_bytes", kFrameBytes);
  summary.add("bytes_in_memory", reader_.versions_seen() * kFrameBytes);
  summary.add("wire_to_memory", wire_to_memory());
  summary.add("update_ms_median", reader_.update_ms().median());
  summary.add("update_ms_p90", reader_.update_ms().p90());
  summary.add("simulator_frame_ms", frame.header.frame_ms);
  summary.add("mean_density_error", reference_error());
  summary.add("checksum", reader_.checksum_of_copy());
  std::printf("astroflow-viewer\n%s", summary.as_lines().c_str());
  if (options_.summary_file.empty()) return;
  if (const auto why = write_summary(summary, options_.summary_file)) {
    std::fprintf(stderr, "astroflow-viewer: %s\n", why->c_str());
  }
}

}  // namespace
}  // namespace astroflow

int main(int argc, char** argv) {
  const astroflow::ViewerCommand command = astroflow::parse_viewer_command(argc, argv);
  if (command.exit_status) return *command.exit_status;
  return astroflow::Viewer(command.options).run();
}
