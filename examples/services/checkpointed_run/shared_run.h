// What the processes of a run and their coordinator share.
#pragma once

#include <array>

#include "checkpointed_run/run.h"
#include "space/barrier.h"

namespace checkpointed_run {

// In each process's own memory.
struct Shown {
  // The outermost cells of its piece; those of a step are kept while the next is computed.
  struct Edges {
    double first, last;
  };
  std::array<Edges, 2> edges;
  std::uint64_t
      sound;  // a bit for each checkpoint, the newest in bit 0: its share of parts is sound
};

// What the first process tells the coordinator.
struct Progress {
  std::uint64_t is_restarted, restart_step;
  double restart_ms;
  std::uint64_t checkpoints, checkpoint_step;
  double written_ms, waited_ms;  // of the last one
  std::uint64_t holding_step;    // 0: it does not hold
};

struct SharedRun {
  explicit SharedRun(std::uint64_t processes) : barrier("checkpointed-run", processes) {}
  const services::Barrier barrier;
  using PerProcess = std::array<std::uint64_t, processes_max>;
  const services::Segment<PerProcess> shown =  // keys
      services::Segment<PerProcess>::named("checkpointed-run shown", DDSS_NULL);
  const services::Segment<PerProcess> checksums =
      services::Segment<PerProcess>::named("checkpointed-run checksums", DDSS_NULL);
  const services::Segment<Progress> progress =
      services::Segment<Progress>::named("checkpointed-run progress", DDSS_VERSION);
};

}  // namespace checkpointed_run
