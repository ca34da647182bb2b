// One process of a run.
#include <bit>
#include <chrono>
#include <optional>

#include "checkpointed_run/checkpoint_files.h"
#include "checkpointed_run/shared_run.h"

namespace checkpointed_run {
namespace {

using services::check;
using services::Segment;
using Clock = std::chrono::steady_clock;

constexpr std::size_t checkpoints_kept = 2;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

class Process {
 public:
  Process(const Plan& plan, std::uint64_t number)
      : plan_(plan),
        number_(number),
        shared_(plan.processes),
        mine_(Segment<Shown>::here(DDSS_NULL)),
        rod_(plan.cells, piece(plan.cells, number, plan.processes)) {
    put_at_my_place(shared_.shown.key(), mine_.key());
    shared_.barrier.wait();
    for (const ddss_key_t key : shared_.shown.get()) others_.push_back(Segment<Shown>(key));
    others_.resize(plan.processes);
  }

  void run() {
    restore();
    while (step_ < plan_.steps) {
      advance();
      const bool is_checkpoint = step_ % plan_.every == 0;
      // The last process, so that the others' parts of a checkpoint are written and its own is not.
      if (step_ == plan_.hold_at && number_ + 1 == plan_.processes) hold();
      if (is_checkpoint) keep();
    }
    put_at_my_place(shared_.checksums.key(), rod_.checksum());
    shared_.barrier.wait();  // nobody's memory goes while a neighbour reads it
  }

 private:
  void put_at_my_place(ddss_key_t key, std::uint64_t value) {
    check(ddss_put_at(key, number_ * sizeof value, &value, sizeof value), "writing shared memory");
  }

  template <typename Change>
  void tell(const Change& change) {
    const services::Lock lock(shared_.progress.key());
    Progress progress = shared_.progress.get();
    change(&progress);
    shared_.progress.put(progress);
  }

  void advance() {
    const std::size_t turn = step_ % 2;
    shown_.edges[turn] = {rod_.first(), rod_.last()};
    mine_.put(shown_);
    shared_.barrier.wait();
    const double before = number_ > 0 ? others_[number_ - 1].get().edges[turn].last : 0;
    const bool is_last = number_ + 1 == plan_.processes;
    const double after = is_last ? 0 : others_[number_ + 1].get().edges[turn].first;
    rod_.step(before, after);
    step_++;
  }

  // Each flushes its own file, together with the others; what they share, the names, one for all.
  void keep() {
    const auto begin = Clock::now();
    const CheckpointFiles files(plan_.folder, {step_, plan_.processes}, plan_.cells);
    files.write(number_, rod_.values());
    const double written_ms = ms_since(begin);
    shared_.barrier.wait();
    if (number_ != 0) return;
    files.flush_names();
    const double all_ms = ms_since(begin);
    remove_old(plan_.folder, checkpoints_kept);
    tell([&](Progress* progress) {
      progress->checkpoints++;
      progress->checkpoint_step = step_;
      progress->written_ms = written_ms;
      progress->waited_ms = all_ms - written_ms;
    });
  }

  // The folder does not change before all agree.
  void restore() {
    const auto begin = Clock::now();
    const auto all = checkpoints_in(plan_.folder, plan_.steps);
    const auto newest = agree_on(all);
    if (newest) {
      const CheckpointFiles files(plan_.folder, *newest, plan_.cells);
      rod_ = Rod(plan_.cells, rod_.range(), files.read(rod_.range()));
      step_ = newest->step;
    }
    shared_.barrier.wait();
    if (number_ != 0) return;
    tell([&](Progress* progress) {
      progress->is_restarted = 1;
      progress->restart_step = step_;
      progress->restart_ms = ms_since(begin);
    });
  }

  std::optional<Checkpoint> agree_on(const std::vector<Checkpoint>& all) {
    shown_.sound = 0;
    for (std::size_t i = 0; i < all.size(); i++) {
      if (is_my_share_sound(all[i])) shown_.sound |= std::uint64_t{1} << i;
    }
    mine_.put(shown_);
    shared_.barrier.wait();
    std::uint64_t sound = shown_.sound;
    for (const auto& other : others_) sound &= other.get().sound;
    if (sound == 0) return std::nullopt;
    return all.at(static_cast<std::size_t>(std::countr_zero(sound)));
  }

  bool is_my_share_sound(const Checkpoint& checkpoint) const {
    const CheckpointFiles files(plan_.folder, checkpoint, plan_.cells);
    for (std::uint64_t part = number_; part < checkpoint.parts; part += plan_.processes) {
      if (!files.is_whole(part)) return false;
    }
    return true;
  }

  [[noreturn]] void hold() {
    tell([&](Progress* progress) { progress->holding_step = step_; });
    for (services::Patience patience;;) patience.pause();
  }

  const Plan& plan_;
  const std::uint64_t number_;
  const SharedRun shared_;
  const Segment<Shown> mine_;
  std::vector<Segment<Shown>> others_;  // all, by number
  Shown shown_{};
  Rod rod_;
  std::uint64_t step_ = 0;
};

}  // namespace

void run_process(const Plan& plan, std::uint64_t process) { Process(plan, process).run(); }

}  // namespace checkpointed_run
