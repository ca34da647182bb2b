// The diff of a page: the runs of bytes in which it differs from its twin [DSM-DIFF-1].
//
// A run holds changed bytes and no others. An equal byte between two of them may be another rank's,
// which changes it at the same time, so it is never sent.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace iw::dsm {

// REQUIRES: both have the same size, at most 64 KiB and a multiple of 8.
std::vector<std::byte> runs_between(std::span<const std::byte> twin,
                                    std::span<const std::byte> page);

// False, and the page is as before: the runs are cut short, out of order, or end behind the page.
[[nodiscard]] bool apply_runs(std::span<const std::byte> runs, std::span<std::byte> page);

}  // namespace iw::dsm
