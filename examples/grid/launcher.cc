#include "grid/launcher.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace grid {
namespace {

constexpr std::chrono::milliseconds draw_interval{100};
constexpr std::chrono::milliseconds ask_interval{1000};  // where nothing is drawn
constexpr int exit_status_when_stopped = 130;            // as a shell tells of Ctrl-C
constexpr int leave_patience_ms = 10000;
constexpr std::size_t events_shown = 4;
constexpr int plain_width = 80;

}  // namespace

Launcher::Launcher(const LauncherOptions& options, std::string program)
    : options_(options),
      program_(std::move(program)),
      stop_(&command_line::Terminal::restore),
      processes_(static_cast<std::size_t>(options.processes)),
      grids_(processes_.size()),
      panels_(processes_.size()) {
  std::signal(SIGPIPE, SIG_IGN);  // a process that dies is told by its output's end
}

Launcher::~Launcher() = default;

int Launcher::run() {
  if (!options_.is_plain) terminal_ = std::make_unique<command_line::Terminal>();
  if (terminal_ && !terminal_->is_drawable()) terminal_.reset();
  start();
  while (phase_ != Phase::over && living() > 0) {
    if (stop_.requested()) {
      note("stopped; nothing is compared");
      leave();
      return exit_status_when_stopped;
    }
    if (is_stuck()) {
      note("some process does not answer");
      break;
    }
    wait();
    advance();
    ask_all();
    draw();
  }
  const int status = compare();
  leave();
  return status;
}

void Launcher::start() {
  enter(Phase::starting);
  note("seed " + std::to_string(options_.seed));
  start_name_server();
  if (stop_.requested()) return;
  for (int i = 0; i < options_.processes; i++) {
    std::vector<std::string> command{program_};
    const auto arguments =
        member_arguments({i, options_.processes, options_.rows, options_.columns});
    command.insert(command.end(), arguments.begin(), arguments.end());
    Process& process = processes_[static_cast<std::size_t>(i)];
    process.child = std::make_unique<ChildProcess>(command);
    note("process " + std::to_string(i) + " is " + std::to_string(process.child->pid()));
  }
}

// Its first line is "listening NAME".
void Launcher::start_name_server() {
  name_server_ = std::make_unique<ChildProcess>(std::vector<std::string>{options_.name_server});
  const auto deadline = Clock::now() + options_.patience;
  std::vector<std::string> said;
  bool may_speak = true;
  while (said.empty() && may_speak && Clock::now() < deadline && !stop_.requested()) {
    pollfd lines[] = {{name_server_->output(), POLLIN, 0}, {stop_.fd(), POLLIN, 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    poll(lines, 2, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (lines[0].revents != 0) may_speak = name_server_->hear(&said);
  }
  if (stop_.requested()) return;
  const std::string listening = "listening ", what = said.empty() ? "nothing" : said[0];
  if (!what.starts_with(listening)) {
    throw std::runtime_error(options_.name_server + " is not a name server: it said " + what);
  }
  setenv("IW_AMNS", what.c_str() + listening.size(), 1);
}

// Until somebody says something, or is to be asked.
void Launcher::wait() {
  std::vector<pollfd> lines{{stop_.fd(), POLLIN, 0},
                            {is_input_open_ ? STDIN_FILENO : -1, POLLIN, 0}};
  for (const Process& each : processes_) {
    lines.push_back({each.is_alive ? each.child->output() : -1, POLLIN, 0});
  }
  const auto interval = terminal_ ? draw_interval : ask_interval;
  poll(lines.data(), lines.size(), static_cast<int>(interval.count()));
  if (lines[1].revents != 0) take_keys();
  for (int i = 0; i < options_.processes; i++) {
    if (lines[static_cast<std::size_t>(2 + i)].revents != 0) hear(i);
  }
}

void Launcher::hear(int number) {
  std::vector<std::string> lines;
  const bool is_alive = processes_[static_cast<std::size_t>(number)].child->hear(&lines);
  for (const std::string& each : lines) take(number, each);
  if (!is_alive) bury(number);
}

void Launcher::take(int number, const std::string& line) {
  Process& process = processes_[static_cast<std::size_t>(number)];
  std::istringstream words(line);
  std::string word, rest;
  words >> word;
  std::getline(words >> std::ws, rest);
  if (word == "writes") {
    take_writes(number, rest);
  } else if (word == "frame") {
    process.asked.reset();
    const auto cells = static_cast<std::size_t>(options_.rows * options_.columns);
    if (auto grids = parse_frame(rest, grids_.size(), cells)) {
      panels_[static_cast<std::size_t>(number)].grids = std::move(*grids);
    }
  } else if (word == "settled") {
    const std::string round = std::to_string(round_) + " ";
    if (!rest.starts_with(round)) return;  // to an order that is out of date
    process.digest = rest.substr(round.size());
    said_[word].insert(number);
  } else {
    said_[word].insert(number);
  }
}

void Launcher::take_writes(int number, const std::string& what) {
  std::istringstream words(what);
  std::size_t grid = 0;
  std::string stamp;
  words >> grid;
  std::getline(words >> std::ws, stamp);
  if (!words || grid >= grids_.size()) return;
  const bool is_new = grids_[grid].process != number;
  grids_[grid] = {number, stamp};
  if (is_new && static_cast<int>(grid) != number) {
    note("grid " + std::to_string(grid) + " is written by process " + std::to_string(number));
  }
  // The state for which the others were told to wait will not come.
  if (phase_ == Phase::settling) phase_ = Phase::stopping;
}

void Launcher::bury(int number) {
  Process& process = processes_[static_cast<std::size_t>(number)];
  process.is_alive = false;
  process.child->wait_for_end(0);
  panels_[static_cast<std::size_t>(number)].is_alive = false;
  for (Ownership& each : grids_) {
    if (each.process == number) each.process = -1;
  }
  note("process " + std::to_string(number) + " is gone");
}

void Launcher::take_keys() {
  if (terminal_ && terminal_->has_keys()) {
    while (const auto key = terminal_->key()) obey(*key);
    return;
  }
  char key = 0;
  if (::read(STDIN_FILENO, &key, 1) == 1) {
    obey(key);
  } else {
    is_input_open_ = false;
  }
}

void Launcher::obey(char key) {
  if (key == 'q' && phase_ == Phase::storming) enter(Phase::stopping);
  const int number = key - '0';
  if (number < 0 || number >= options_.processes) return;
  Process& process = processes_[static_cast<std::size_t>(number)];
  if (process.is_alive) process.child->signal(SIGKILL);
}

void Launcher::advance() {
  switch (phase_) {
    case Phase::starting:
      if (have_all_said("ready")) enter(Phase::meeting);
      break;
    case Phase::meeting:
      if (have_all_said("met")) enter(Phase::storming);
      break;
    case Phase::storming:
      if (have_all_said("done")) enter(Phase::stopping);
      break;
    case Phase::stopping:
      if (have_all_said("stopped") && has_each_grid_a_writer()) {
        phase_ = Phase::settling;
        said_["settled"].clear();
        tell_all(settle_order());
      }
      break;
    case Phase::settling:
      if (!has_each_grid_a_writer()) {
        phase_ = Phase::stopping;
      } else if (have_all_said("settled")) {
        enter(Phase::over);
      }
      break;
    case Phase::over:
      break;
  }
}

void Launcher::enter(Phase phase) {
  phase_ = phase;
  phase_begin_ = Clock::now();
  if (phase == Phase::meeting) tell_all("meet");
  if (phase == Phase::stopping) tell_all("stop");
  if (phase != Phase::storming) return;
  for (int i = 0; i < options_.processes; i++) {
    const Process& process = processes_[static_cast<std::size_t>(i)];
    if (process.is_alive) process.child->say(storm_order(i));
  }
  note("the storm begins");
}

void Launcher::tell_all(const std::string& order) {
  for (const Process& each : processes_) {
    if (each.is_alive) each.child->say(order);
  }
}

std::string Launcher::storm_order(int number) const {
  std::ostringstream order;
  order << "storm " << options_.updates << " " << options_.rate << " "
        << options_.seed + static_cast<std::uint64_t>(number);
  return order.str();
}

std::string Launcher::settle_order() {
  std::string order = "settle " + std::to_string(++round_);
  for (const Ownership& each : grids_) order += " " + each.stamp;
  return order;
}

bool Launcher::have_all_said(const std::string& word) const {
  const auto found = said_.find(word);
  for (int i = 0; i < options_.processes; i++) {
    if (!processes_[static_cast<std::size_t>(i)].is_alive) continue;
    if (found == said_.end() || !found->second.contains(i)) return false;
  }
  return true;
}

bool Launcher::has_each_grid_a_writer() const {
  return std::ranges::none_of(grids_, [](const Ownership& each) { return each.process < 0; });
}

// The storm takes as long as it takes. A silent process is killed before its phase is over, and the
// others then need time for what it wrote.
bool Launcher::is_stuck() const {
  return phase_ != Phase::storming && Clock::now() > phase_begin_ + 2 * options_.patience;
}

std::size_t Launcher::living() const {
  return static_cast<std::size_t>(std::ranges::count_if(processes_, &Process::is_alive));
}

// Reports of the processes. One that does not report for too long is stopped or hangs.
void Launcher::ask_all() {
  const auto now = Clock::now();
  const auto interval = terminal_ ? draw_interval : ask_interval;
  if (phase_ < Phase::storming || now < asked_ + interval) return;
  asked_ = now;
  for (std::size_t i = 0; i < processes_.size(); i++) {
    Process& process = processes_[i];
    if (!process.is_alive) continue;
    if (!process.asked) {
      process.child->say("show");
      process.asked = now;
    } else if (now - *process.asked > options_.patience) {
      note("process " + std::to_string(i) + " does not answer: killed");
      process.child->signal(SIGKILL);
      process.asked = now;  // its end is heard soon
    }
  }
}

// Each time with the frames that were asked for the last time.
void Launcher::draw() {
  if (!terminal_ || Clock::now() < drawn_ + draw_interval) return;
  drawn_ = Clock::now();
  const auto size = terminal_->size();
  auto lines = picture(size.columns, true);
  lines.emplace_back();
  const std::size_t first = events_.size() - std::min(events_.size(), events_shown);
  lines.insert(lines.end(), events_.begin() + static_cast<std::ptrdiff_t>(first), events_.end());
  lines.push_back("q: end the storm   0-" + std::to_string(options_.processes - 1) +
                  ": kill that process   Ctrl-C: leave");
  std::string text = "\x1b[H";
  const auto rows = std::min(lines.size(), static_cast<std::size_t>(size.rows));
  for (std::size_t i = 0; i < rows; i++) {
    text += lines[i] + "\x1b[K" + (i + 1 < rows ? "\r\n" : "");
  }
  terminal_->write(text + "\x1b[J");
}

std::vector<std::string> Launcher::picture(int width, bool has_colours) {
  for (std::size_t i = 0; i < panels_.size(); i++) {
    panels_[i].title = "process " + std::to_string(i) + (processes_[i].is_alive ? "" : ": gone");
  }
  return grid::draw(panels_, options_.columns, width, has_colours);
}

// At once where it is not drawn, else when the screen is given back.
void Launcher::note(const std::string& event) {
  events_.push_back(event);
  if (terminal_) return;
  std::printf("%s\n", event.c_str());
  std::fflush(stdout);
}

int Launcher::compare() {
  for (const std::string& each : picture(plain_width, terminal_ != nullptr)) note(each);
  std::set<std::string> digests;
  for (std::size_t i = 0; i < processes_.size(); i++) {
    if (!processes_[i].is_alive) continue;
    digests.insert(processes_[i].digest);
    note("process " + std::to_string(i) + " has the digest " +
         (processes_[i].digest.empty() ? "(none)" : processes_[i].digest));
  }
  const bool is_same = phase_ == Phase::over && digests.size() == 1;
  note(is_same ? "identical: " + std::to_string(living()) + " of " +
                     std::to_string(processes_.size()) + " processes"
               : "not identical");
  return is_same ? 0 : 1;
}

// The processes first: the name server answers their goodbyes.
void Launcher::leave() {
  if (terminal_) {
    terminal_.reset();
    for (const std::string& each : events_) std::printf("%s\n", each.c_str());
  }
  for (const Process& each : processes_) {
    if (each.child && each.is_alive) each.child->end_input();
  }
  for (const Process& each : processes_) {
    if (each.child && each.is_alive) each.child->wait_for_end(leave_patience_ms);
  }
  if (name_server_) {
    name_server_->signal(SIGTERM);
    name_server_->wait_for_end(leave_patience_ms);
  }
}

}  // namespace grid
