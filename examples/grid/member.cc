#include "grid/member.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <sstream>

namespace grid {
namespace {

constexpr std::uint64_t batch = 64;  // updates between two looks at everything else

template <typename... Words>
void say(const Words&... words) {
  ((std::cout << words), ...);
  std::cout << std::endl;  // now: somebody waits for it
}

char letter(SharedGrid::Part part) {
  return part == SharedGrid::Part::writer ? 'w' : part == SharedGrid::Part::reader ? 'r' : '-';
}

std::string cells_of(const Grid& grid) {
  std::string text;
  for (int row = 0; row < grid.rows(); row++) {
    for (int column = 0; column < grid.columns(); column++) {
      const Cell& cell = grid.at(row, column);
      text += static_cast<char>('0' + cell.colour);
      text += static_cast<char>('0' + cell.number);
    }
  }
  return text;
}

}  // namespace

Member::Member(const MemberOptions& options) : options_(options) {
  register_objects();
  const Grid empty(options.rows, options.columns);
  for (int i = 0; i < options.processes; i++) {
    grids_.emplace_back(factory_, i, options.number, empty);
  }
}

void Member::run() {
  const auto own = static_cast<std::size_t>(options_.number);
  grids_[own].write();
  say_what_is_written(grids_[own], own);
  say("ready");
  while (take_orders()) {
    if (has_met_) mend_a_tie();
    if (storm_) go_on_storming();
    if (target_) settle();
  }
}

// Between two looks at what does not announce itself: ties that break, updates that come.
int Member::patience_ms() const {
  const bool has_work = storm_ && !storm_->is_over() && storm_->due() > 0;
  return has_work ? 0 : target_ || storm_ ? 2 : 20;
}

bool Member::take_orders() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  if (poll(&input, 1, patience_ms()) <= 0) return true;
  std::array<char, 4096> bytes;
  const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
  if (count <= 0) return false;
  input_.append(bytes.data(), static_cast<std::size_t>(count));
  for (std::size_t end = 0; (end = input_.find('\n')) != std::string::npos;) {
    const std::string order = input_.substr(0, end);
    input_.erase(0, end + 1);
    obey(order);
  }
  return true;
}

void Member::obey(const std::string& order) {
  std::istringstream words(order);
  std::string verb;
  words >> verb;
  if (verb == "meet") {
    for (SharedGrid& each : grids_) {
      if (each.part() == SharedGrid::Part::none) each.read();
    }
    has_met_ = true;  // who died before is replaced from now on
    say("met");
  } else if (verb == "storm") {
    std::uint64_t seed = 0;
    storm_.emplace();
    words >> storm_->updates >> storm_->rate >> seed;
    storm_->begin = std::chrono::steady_clock::now();
    random_.seed(seed);
  } else if (verb == "stop") {
    storm_.reset();
    for (std::size_t i = 0; i < grids_.size(); i++) {
      if (grids_[i].part() == SharedGrid::Part::writer) say_what_is_written(grids_[i], i);
    }
    say("stopped");
  } else if (verb == "show") {
    say("frame", frame());
  } else if (verb == "settle") {
    target_.emplace();
    words >> target_->round;
    for (Stamp stamp; words >> stamp.term >> stamp.writer >> stamp.updates;) {
      target_->stamps.push_back(stamp);
    }
  }
}

// One a turn, and each in its turn. An attempt may take seconds (join_ms), and a program that gives
// orders does not wait for many of them.
void Member::mend_a_tie() {
  for (std::size_t i = 0; i < grids_.size(); i++) {
    const std::size_t number = next_tie_;
    next_tie_ = (next_tie_ + 1) % grids_.size();
    if (grids_[number].part() != SharedGrid::Part::none) continue;
    if (grids_[number].mend()) say_what_is_written(grids_[number], number);
    return;
  }
}

void Member::say_what_is_written(SharedGrid& grid, std::size_t number) {
  const Stamp stamp = grid.look().stamp();
  say("writes ", number, " ", stamp.term, " ", stamp.writer, " ", stamp.updates);
}

std::uint64_t Member::Storm::due() const {
  const std::uint64_t left = updates == 0 ? batch : updates - std::min(made, updates);
  if (rate <= 0) return std::min(left, batch);
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - begin;
  const auto wanted = static_cast<std::uint64_t>(since.count() * rate);
  return std::min({left, batch, wanted - std::min(made, wanted)});
}

void Member::go_on_storming() {
  std::vector<SharedGrid*> written;
  for (SharedGrid& each : grids_) {
    if (each.part() == SharedGrid::Part::writer) written.push_back(&each);
  }
  if (storm_->is_over()) return;
  for (std::uint64_t left = storm_->due(); left > 0; left--, storm_->made++) {
    update(written[random_() % written.size()]->writer());
  }
  for (SharedGrid& each : grids_) each.look();  // so that queues stay short
  if (storm_->is_over()) say("done");
}

Place Member::random_place() {
  return {static_cast<int>(random_() % static_cast<unsigned>(options_.rows)),
          static_cast<int>(random_() % static_cast<unsigned>(options_.columns))};
}

void Member::update(WriterContainer<Grid>& grid) {
  const auto kind = random_() % 1000;
  const Place place = random_place();
  if (kind < 500) {
    const Cell cell{static_cast<std::uint8_t>(random_() % 10),
                    static_cast<std::uint8_t>(1 + random_() % colours)};
    grid.Insert(std::make_shared<Place>(place), std::make_shared<Square>(cell));
  } else if (kind < 800) {
    grid.call<&Grid::move>(place, random_place());
  } else if (kind < 999) {
    grid.Delete(std::make_shared<Place>(place));
  } else {
    grid.Clear();
  }
}

void Member::settle() {
  std::vector<const Grid*> all;
  for (std::size_t i = 0; i < grids_.size(); i++) {
    const Grid& grid = grids_[i].look();
    if (i >= target_->stamps.size() || grid.stamp() != target_->stamps[i]) return;
    all.push_back(&grid);
  }
  say("frame", frame());
  say("settled ", target_->round, " ", std::hex, digest_of(all), std::dec);
  target_.reset();
}

std::string Member::frame() {
  std::string text;
  for (SharedGrid& each : grids_) {
    const Grid& grid = each.look();
    text += std::string(" ") + letter(each.part()) + " " + cells_of(grid);
  }
  return text;
}

}  // namespace grid
