// The head of a frame: the sizes of its control part and of its bulk (spec/protocol/session.x).
#pragma once

#include <cstddef>

namespace iw::session {

inline constexpr std::size_t frame_head_bytes = 8;

}  // namespace iw::session
