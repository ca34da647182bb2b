// The diff of a page: the runs of bytes in which it differs from its twin [DSM-DIFF-1].
//
// A run holds changed bytes and no others. An equal byte between two of them may be another rank's,
// which changes it at the same time, so it is never sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace iw::dsm {

// The room for a page's runs. Most are those of a page of which every other byte differs, the first
// among them. Short runs are written with what lies behind them in the page.
constexpr std::size_t most_run_bytes(std::size_t page_bytes) {
  constexpr std::size_t head_bytes = 2 * sizeof(std::uint16_t);
  constexpr std::size_t behind = 16;
  return ((page_bytes + 1) / 2) * (head_bytes + 1) + behind;
}

// Writes the runs to `room` and returns how many bytes they have.
// REQUIRES: both have the same size, at most 64 KiB. The room has most_run_bytes of it.
std::size_t write_runs(std::span<const std::byte> twin, std::span<const std::byte> page,
                       std::span<std::byte> room);
// The same, in memory of its own.
std::vector<std::byte> runs_between(std::span<const std::byte> twin,
                                    std::span<const std::byte> page);

// False: the runs are cut short, out of order, or end behind the page.
[[nodiscard]] bool are_whole(std::span<const std::byte> runs, std::size_t page_bytes);
// False, and the page is as before: the runs are not whole.
[[nodiscard]] bool apply_runs(std::span<const std::byte> runs, std::span<std::byte> page);

}  // namespace iw::dsm
