// A run's plan and its coordinator.
#include <unistd.h>

#include <numeric>

#include "checkpointed_run/checkpoint_files.h"
#include "checkpointed_run/shared_run.h"

namespace checkpointed_run {
namespace {

using services::Failure;
using services::format;
using services::Misuse;
using Say = std::function<void(const std::string&)>;

constexpr std::uint64_t nowhere = UINT64_MAX;

unsigned long long wide(std::uint64_t number) { return number; }

// Tells what is news since the last look.
class Reporter {
 public:
  Reporter(const SharedRun& shared, const Say& say) : shared_(shared), say_(say) {}
  void look() {
    Progress now{};
    if (!shared_.progress.get_if_newer(&now, &version_)) return;
    if (now.is_restarted != known_.is_restarted) {
      say_(format("continues at step %llu; restart took %.2f ms", wide(now.restart_step),
                  now.restart_ms));
    }
    if (now.checkpoints != known_.checkpoints) {
      say_(format("checkpoint at step %llu: %.2f ms to write, %.2f ms for the others",
                  wide(now.checkpoint_step), now.written_ms, now.waited_ms));
    }
    if (now.holding_step != known_.holding_step) {
      say_(format("held at step %llu: kill -9 %d, and start again", wide(now.holding_step),
                  getpid()));
    }
    known_ = now;
  }

 private:
  const SharedRun& shared_;
  const Say& say_;
  Progress known_{};
  std::uint64_t version_ = 0;
};

}  // namespace

const std::vector<std::string>& Plan::options() {
  static const std::vector<std::string> all{"--cells",     "--steps",   "--every",
                                            "--processes", "--hold-at", "--folder"};
  return all;
}

Plan Plan::read(const services::Arguments& arguments) {
  Plan plan{};
  plan.cells = arguments.number("--cells", 100'000, 1, 100'000'000);
  plan.steps = arguments.number("--steps", 1000, 1, nowhere - 1);
  plan.every = arguments.number("--every", 100, 1, nowhere - 1);
  plan.processes = arguments.number("--processes", 2, 1, processes_max);
  plan.hold_at = arguments.number("--hold-at", nowhere, 1, nowhere);
  plan.folder = arguments.text("--folder", "checkpoints");
  if (plan.processes > plan.cells) throw Misuse{"--processes: more than --cells"};
  return plan;
}

std::vector<std::string> Plan::words() const {
  return {"--cells",   std::to_string(cells),   "--steps",     std::to_string(steps),
          "--every",   std::to_string(every),   "--processes", std::to_string(processes),
          "--hold-at", std::to_string(hold_at), "--folder",    folder};
}

std::uint64_t run_all(const std::string& program, const Plan& plan,
                      const command_line::StopSignal& stop, const Say& say) {
  const FolderLock folder(plan.folder);
  if (!folder.attempt()) {
    say("waiting for another run in " + plan.folder + " to end; Ctrl-C gives up");
    while (!folder.wait()) {
      if (stop.requested()) throw services::Interrupted();
    }
  }
  const services::Space space = services::Space::found();
  const SharedRun shared(plan.processes);
  services::ChildProcesses processes;
  for (std::uint64_t i = 0; i < plan.processes; i++) {
    auto words = plan.words();
    words.insert(words.begin(), {"process", std::to_string(i)});
    words.insert(words.end(), {"--join", ddss_address()});
    processes.start(program, words);
  }
  Reporter reporter(shared, say);
  try {
    processes.await_end(stop, [&] { reporter.look(); });
  } catch (const Failure& failure) {
    throw Failure(std::string(failure.what()) +
                  "; start again to continue at the newest checkpoint in " + plan.folder);
  }
  const auto sums = shared.checksums.get();
  return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
}

}  // namespace checkpointed_run
