// The patience of a client, whoever drives its conversations: the library, or the simulator.
#pragma once

#include <cstdint>

namespace iw::session {

// Beyond its own deadline, for the server's answer that a deadline passed to arrive.
inline constexpr std::int64_t answer_grace_ns = 200'000'000;
// Bytes that have arrived may take so long to be read before a silence is believed.
inline constexpr std::int64_t reading_grace_ns = 200'000'000;
// The pause before an attempt that lacked memory, or was refused for now, is repeated.
inline constexpr std::int64_t scarcity_pause_ns = 10'000'000;
// Between attempts to reach a server that somebody waits for: the first pause, then twice as long
// each, and the longest.
inline constexpr std::int64_t first_pause_ns = 10'000'000;
inline constexpr std::int64_t longest_pause_ns = 500'000'000;
// For one attempt to connect, while another server may answer for the segment by now [SPACE-14].
inline constexpr std::int64_t attempt_ns = 2'000'000'000;
// So often a client is sent on for one request [SPACE-10].
inline constexpr int most_hops = 3;
// Of a writer whose copy must become the newest. One is enough but where another thread's update
// comes between, or the connection is lost.
inline constexpr int most_questions = 16;

}  // namespace iw::session
