// A ring of slots between a thread of an application and the daemon of its machine, in memory that
// both have mapped [DDSS-CHANNEL-1]. The thread fills slots and counts `submitted` up. A thread of
// the daemon takes the slots in turn and counts `answered` up. Both poll for a while, then sleep on
// the other's count (a futex). A thread that sleeps says so, because only then is it woken.
//
// A thread that waited in vain gives its call up [DDSS-CHANNEL-3]. The daemon undoes the call where
// it can, and the answer is dropped. The slot stays the daemon's until it is counted.
//
// The socket over which the memory was handed over stays open. When it ends, the other process is
// gone. A byte that the daemon sent before says that it had no room for the channel.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "ddss/backend.h"
#include "ddss/name_text.h"

namespace iw::ddss {

// The data of a Call::allocate. (Call::describe is answered with a ddss_description_t.)
struct AllocationText {
  ddss_allocation_t how{};  // without its pointers
  NameText name{};          // empty: the segment has none
};

struct alignas(64) Channel {
  alignas(64) std::atomic<std::uint32_t> submitted{0};
  std::atomic<std::uint32_t> daemon_sleeps{0};
  alignas(64) std::atomic<std::uint32_t> answered{0};
  std::atomic<std::uint32_t> client_sleeps{0};
  struct alignas(64) Slot {
    std::atomic<SlotState> state{SlotState::asked};  // changes once
    Request request;
    alignas(64) Answer answer;
  };
  static_assert(sizeof(Slot) == 2 * 64);
  std::array<Slot, slots_in_channel> slots;

  Slot& slot(std::uint32_t number) { return slots[number % slots_in_channel]; }
  std::byte* data(std::uint32_t number) {
    return reinterpret_cast<std::byte*>(this + 1) + number % slots_in_channel * slot_data_bytes;
  }
};
inline constexpr std::size_t channel_bytes = sizeof(Channel) + slots_in_channel * slot_data_bytes;

// Counts up, and wakes the other if it sleeps.
void count_up(std::atomic<std::uint32_t>& count, std::atomic<std::uint32_t>& other_sleeps);
void wake(std::atomic<std::uint32_t>& count);
// Waits until the count is not `seen`. Polls for `spin`, then sleeps once, for some 50 ms at most.
// False: the count is still `seen`.
bool await_change(std::atomic<std::uint32_t>& count, std::uint32_t seen,
                  std::atomic<std::uint32_t>& sleeps, std::chrono::microseconds spin);

// One end of the socket, and the mapped channel.
class ChannelEnd {
 public:
  // Takes the socket, makes the memory and hands it over. nullptr: that failed.
  static std::unique_ptr<ChannelEnd> offer(int socket);
  // Takes the socket and waits for the memory. nullptr: none came, or the memory is not sealed or
  // has another size.
  static std::unique_ptr<ChannelEnd> take(int socket);
  ~ChannelEnd();
  ChannelEnd(const ChannelEnd&) = delete;
  ChannelEnd& operator=(const ChannelEnd&) = delete;
  Channel& channel() const { return *channel_; }
  int socket() const { return socket_; }
  // 0: the other process is there. DDSS_EFULL: it had no room. DDSS_ENODE: it is gone, or one of
  // both ends has hung up.
  int error() const;
  // Makes error() at the other end DDSS_EFULL.
  void refuse() const;
  void hang_up() const;

 private:
  ChannelEnd(int socket, Channel* channel) : socket_(socket), channel_(channel) {}
  int socket_;
  Channel* channel_;
};

}  // namespace iw::ddss
