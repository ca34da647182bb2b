// What workers say to each other about a memory that is only reached by asking its process: the
// requests of the asker (asking.h) and the answers (answering.h), as spec/cluster/fabric.x has them
// [FAB-4].
#pragma once

#include <cstddef>

#include "fabric/fabric.h"

namespace iw::fabric {

static_assert(static_cast<unsigned>(Outcome::ok) == static_cast<unsigned>(Status::ok) &&
              static_cast<unsigned>(Outcome::bad_argument) ==
                  static_cast<unsigned>(Status::bad_argument));

inline constexpr std::size_t piece_bytes_max = piece_bytes;
inline constexpr std::size_t unanswered_bytes_max = 8 * piece_bytes_max;
// What an answer costs beside its bytes.
inline constexpr std::size_t answer_bytes = 256;

}  // namespace iw::fabric
