// What a process and its InterWeave server have exchanged about a segment since it was opened.
#pragma once

#include <cstdint>
#include <interweave.hpp>

namespace stock {

inline IW_stats_t stats_of(const iw::Segment& segment) {
  IW_stats_t stats{};
  stats.size = sizeof stats;
  if (IW_stats(segment.handle(), &stats) != 0) throw iw::Error::last();
  return stats;
}

inline std::uint64_t traffic_of(const iw::Segment& segment) {
  const IW_stats_t stats = stats_of(segment);
  return stats.bytes_sent + stats.bytes_received;
}

}  // namespace stock
