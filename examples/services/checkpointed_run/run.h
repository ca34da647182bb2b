// A run: a coordinator starts processes that compute a piece of the rod each, step by step. At a
// barrier after a checkpoint's step all have written their parts: then it is whole, and older ones
// go. After a restart each process looks which checkpoints' parts are sound and shows it in its
// memory; all read that of all others, and so agree on the newest that is whole.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "program/child_processes.h"

namespace checkpointed_run {

inline constexpr std::uint64_t processes_max = 64;

struct Plan {
  std::uint64_t cells, steps, every, processes;
  std::uint64_t hold_at;  // UINT64_MAX: nowhere
  std::string folder;
  static const std::vector<std::string>& options();
  static Plan read(const services::Arguments& arguments);
  std::vector<std::string> words() const;  // as it is read
};

// One of the processes: the space is joined.
void run_process(const Plan& plan, std::uint64_t process);

// Starts this many processes of `program process ...` in a space of its own and waits for them.
// `say` is given lines that tell what happens. Returns the result's checksum.
std::uint64_t run_all(const std::string& program, const Plan& plan,
                      const command_line::StopSignal& stop,
                      const std::function<void(const std::string&)>& say);

}  // namespace checkpointed_run
