#include "dsm/node/node_start.h"

#include <cstring>
#include <utility>

namespace iw::dsm {

using fabric::bytes_of;
using fabric::Status;

namespace {

using Everybodys = std::vector<std::vector<std::byte>>;

std::string rank_text(Rank rank) { return "rank " + std::to_string(rank); }

// Everybody's T by rank. False, and why in *error.
template <typename T>
bool exchange(const T& mine, const MeetingOptions& options, Meeting* meeting, std::vector<T>* all,
              std::string* error) {
  Everybodys bytes;
  const Status status = meeting->rendezvous->exchange(bytes_of(mine), options.deadline, &bytes);
  if (status != Status::ok) {
    *error = std::string("the ranks could not meet: ") + fabric::to_string(status) +
             "; look for the output of a rank that ended, and compare IW_SIZE with the processes";
    return false;
  }
  all->resize(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); i++) {
    if (fabric::read_whole(std::span<const std::byte>(bytes[i]), &(*all)[i])) continue;
    *error = rank_text(static_cast<Rank>(i)) +
             " speaks another version of the shared memory; start the same build at all ranks";
    return false;
  }
  return true;
}

struct Named {
  const char* name;
  std::uint64_t (*of)(const Settings& settings);
};

// [DSM-MEET-1]
bool is_agreed(const std::vector<Settings>& all, std::string* error) {
  static constexpr Named settings[] = {
      {"the protocol's version", [](const Settings& s) -> std::uint64_t { return s.version; }},
      {"the heap's size (IW_DSM_HEAP)", [](const Settings& s) { return s.heap_bytes; }},
      {"the page's size (IW_DSM_PAGE)",
       [](const Settings& s) -> std::uint64_t { return s.page_bytes; }},
      {"the barriers' fan-in (IW_DSM_FAN_IN)",
       [](const Settings& s) -> std::uint64_t { return s.fan_in; }},
      {"the pulling of diffs (IW_DSM_PULL)",
       [](const Settings& s) -> std::uint64_t { return s.are_pulled; }},
      {"the services' settings", [](const Settings& s) { return s.settings_hash; }},
  };
  for (std::size_t i = 1; i < all.size(); i++) {
    for (const Named& each : settings) {
      const std::uint64_t first = each.of(all[0]), other = each.of(all[i]);
      if (first == other) continue;
      *error = std::string(each.name) + " is " + std::to_string(first) + " at rank 0 and " +
               std::to_string(other) + " at " + rank_text(static_cast<Rank>(i)) +
               "; start all ranks with the same settings";
      return false;
    }
  }
  return true;
}

Ballot vote_on(const HeapOptions& options, std::uintptr_t address, Meeting* meeting,
               std::string* error) {
  bool is_taken = false;
  // An address of the process: a number until it is mapped.
  auto* const at = reinterpret_cast<std::byte*>(address);
  meeting->heap = Heap::map(options, at, &is_taken, error);
  Ballot ballot{};
  ballot.address = address;
  ballot.vote = meeting->heap ? Vote::mapped : is_taken ? Vote::taken : Vote::failed;
  if (meeting->heap && meeting->tables) {
    ballot.memory = meeting->tables->memory(meeting->heap->file());
  }
  return ballot;
}

}  // namespace

bool meet(const MeetingOptions& options, Meeting* meeting, std::string* error) {
  meeting->rendezvous = fabric::Rendezvous::open(options.deadline, error);
  if (!meeting->rendezvous) return false;
  if (meeting->rendezvous->size() > static_cast<unsigned>(ranks_max)) {
    *error = "a job of the shared memory has at most " + std::to_string(ranks_max) + " ranks";
    return false;
  }
  meeting->me = static_cast<Rank>(meeting->rendezvous->rank());
  meeting->ranks = static_cast<Rank>(meeting->rendezvous->size());
  meeting->fabric = fabric::Fabric::open({}, error);
  if (!meeting->fabric) return false;
  Status status = Status::ok;
  meeting->worker = meeting->fabric->add_worker(&status);
  if (!meeting->worker) *error = std::string("no worker: ") + fabric::to_string(status);
  return meeting->worker != nullptr;
}

bool map_heap(const MeetingOptions& options, Meeting* meeting, std::string* error) {
  const Settings mine{protocol_version,
                      static_cast<std::uint32_t>(options.heap.page_bytes),
                      options.heap.bytes,
                      options.settings_hash,
                      options.fan_in,
                      options.are_pulled ? 1u : 0u,
                      meeting->worker->address()};
  if (!exchange(mine, options, meeting, &meeting->settings, error)) return false;
  if (!is_agreed(meeting->settings, error)) return false;
  if (options.is_direct) {
    meeting->tables =
        HomeTables::make({meeting->me, meeting->ranks, options.heap.bytes / options.heap.page_bytes,
                          options.heap.page_bytes});
  }
  const auto addresses = Heap::addresses();
  for (const std::uintptr_t address : addresses) {
    std::string why;
    const Ballot ballot = vote_on(options.heap, address, meeting, &why);
    std::vector<Ballot> all;
    if (!exchange(ballot, options, meeting, &all, error)) return false;
    bool is_mapped = true;
    for (std::size_t i = 0; i < all.size(); i++) {
      is_mapped = is_mapped && all[i].vote == Vote::mapped && all[i].address == address;
      if (all[i].vote != Vote::failed) continue;
      *error = i == meeting->me ? why
                                : rank_text(static_cast<Rank>(i)) +
                                      " could not map the heap; its own output says why";
      return false;
    }
    if (is_mapped) {
      for (const Ballot& each : all) meeting->memories.push_back(each.memory);
      return true;
    }
    meeting->heap.reset();
  }
  *error = "none of " + std::to_string(addresses.size()) +
           " addresses for the heap is free at all ranks; make the heap smaller (IW_DSM_HEAP)";
  return false;
}

bool connect_all(const MeetingOptions& options, Meeting* meeting, std::string* error) {
  meeting->peers.resize(meeting->ranks);
  for (Rank rank = 0; rank < meeting->ranks; rank++) {
    if (rank == meeting->me) continue;
    const Status status = meeting->worker->connect(meeting->settings[rank].address,
                                                   options.deadline, &meeting->peers[rank]);
    // Where the transport reaches memory without its processor, the files may be at hand, too.
    const bool is_near = meeting->tables &&
                         meeting->worker->is_onesided(fabric::Operation::get, meeting->peers[rank]);
    if (status == Status::ok && is_near) {
      meeting->tables->may_reach(rank, meeting->memories[rank]);
    }
    if (status == Status::ok) continue;
    *error = "no connection with " + rank_text(rank) + ": " + fabric::to_string(status);
    return false;
  }
  return true;
}

bool agree(const MeetingOptions& options, bool is_ready, Meeting* meeting, std::string* error) {
  Ballot mine{};
  mine.vote = is_ready ? Vote::mapped : Vote::failed;
  std::vector<Ballot> all;
  std::string why;
  const bool has_met = exchange(mine, options, meeting, &all, &why);
  if (!is_ready) return false;
  if (!has_met) *error = why;
  for (std::size_t i = 0; i < all.size(); i++) {
    if (all[i].vote == Vote::mapped) continue;
    *error = rank_text(static_cast<Rank>(i)) + " could not start; its own output says why";
    return false;
  }
  return has_met;
}

bool meet_again(const MeetingOptions& options, Meeting* meeting, std::string* error) {
  std::vector<Ballot> all;
  return exchange(Ballot{}, options, meeting, &all, error);
}

}  // namespace iw::dsm
