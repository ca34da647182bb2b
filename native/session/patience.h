// The patience of a client, whoever drives its conversations: the library, or the simulator.
#pragma once

#include <cstdint>

namespace iw::session {

// Beyond its own deadline, for the server's answer that a deadline passed to arrive.
inline constexpr std::int64_t answer_grace_ns = 200'000'000;
// For what has arrived to be read before a silence is believed.
inline constexpr std::int64_t reading_grace_ns = 200'000'000;
// Before what there was no memory for, or a server refused for now, is tried again.
inline constexpr std::int64_t scarcity_pause_ns = 10'000'000;
// Of a writer whose copy must become the newest. One is enough but where another thread's update
// comes between, or the connection is lost.
inline constexpr int most_questions = 16;

}  // namespace iw::session
