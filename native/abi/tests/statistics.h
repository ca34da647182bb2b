// What the library counts of a segment, as tests read it.
#pragma once

#include <gtest/gtest.h>

#include "interweave.h"

namespace iw::test {

inline IW_stats_t stats_of(IW_handle_t segment) {
  IW_stats_t stats{};
  stats.size = sizeof stats;
  EXPECT_EQ(IW_stats(segment, &stats), 0) << IW_strerror();
  return stats;
}

}  // namespace iw::test
