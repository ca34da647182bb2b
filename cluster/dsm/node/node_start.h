// How the ranks of a job meet: settings that all share, the worker's addresses, and one address for
// the heap in all processes. Implements [DSM-MEET-1] to [DSM-MEET-3] of spec/cluster/dsm.x.
//
// All functions are collective. They return false, and why in *error. An error at one rank is an
// error at all, at the latest when the deadline has passed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dsm/dsm.gen.h"
#include "dsm/memory/heap.h"
#include "dsm/memory/home_tables.h"
#include "dsm/protocol/time.h"
#include "fabric/fabric.h"
#include "fabric/rendezvous.h"

namespace iw::dsm {

// The parts of a rank when all have met.
struct Meeting {
  Rank me = 0;
  Rank ranks = 1;
  std::unique_ptr<fabric::Rendezvous> rendezvous;
  std::unique_ptr<fabric::Fabric> fabric;
  std::unique_ptr<fabric::Worker> worker;
  std::unique_ptr<Heap> heap;
  std::unique_ptr<HomeTables> tables;  // nullptr: pages come by messages
  std::vector<Settings> settings;      // by rank
  std::vector<Memory> memories;        // by rank
  std::vector<fabric::PeerId> peers;   // by rank
};

struct MeetingOptions {
  HeapOptions heap;
  std::uint64_t settings_hash = 0;
  bool is_direct = true;
  Rank fan_in = 0;
  bool are_pulled = false;
  fabric::Deadline deadline;
};

// Opens the rendezvous, the fabric and a worker.
[[nodiscard]] bool meet(const MeetingOptions& options, Meeting* meeting, std::string* error);
// Compares the settings, and maps the heap at the first address that is free at all ranks.
// REQUIRES: the worker has its handlers, because the others know its address afterwards.
[[nodiscard]] bool map_heap(const MeetingOptions& options, Meeting* meeting, std::string* error);
// Connects with all other ranks, and looks whose memory may be within reach.
[[nodiscard]] bool connect_all(const MeetingOptions& options, Meeting* meeting, std::string* error);
// False at all ranks if one of them cannot start: `is_ready`. That rank has *error already.
[[nodiscard]] bool agree(const MeetingOptions& options, bool is_ready, Meeting* meeting,
                         std::string* error);
// Returns when all ranks have come here.
[[nodiscard]] bool meet_again(const MeetingOptions& options, Meeting* meeting, std::string* error);

}  // namespace iw::dsm
