// Block prediction (ICDCS'03 3.3): the memory of a row of look-ups. Blocks are mostly used in the
// order of their creation, and then the next block's record follows the last one's. That record is
// tried before any index is searched, which costs one comparison. A prediction is always checked,
// so a trail may serve several heaps, and may outlive what it remembers.
#pragma once

#include <cstdint>

#include "memory/hash_index.h"

namespace iw::memory {

struct Trail {
  bool predicts = true;        // for measurements: whether to
  RecordId expected = 0;       // the record that is tried first
  bool is_followed = false;    // the last look-up found it there
  std::uint64_t followed = 0;  // look-ups that needed no search
  std::uint64_t searched = 0;

  void follow() {
    is_followed = true;
    ++followed;
  }
};

}  // namespace iw::memory
