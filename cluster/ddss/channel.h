// Between a thread of an application and the daemon of its machine: a ring of slots in memory that
// both have mapped [DDSS-CHANNEL-1]. The thread fills slots and counts `submitted` up; the daemon's
// thread that serves it takes them in turn and counts `answered` up. Both poll for a while, then
// sleep on the count (a futex), and are woken only if they say that they sleep.
//
// Who waited in vain gives the call up: what it comes to is undone where that can be (Daemon), and
// its answer dropped. Its slot stays the daemon's until it is counted.
//
// The socket over which the memory was handed over stays open: its end says that the other is gone;
// a byte from the daemon before that, that it had no room for the channel.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "ddss/backend.h"
#include "ddss/name_text.h"

namespace iw::ddss {

// The data that go with Call::allocate; Call::describe is answered with a ddss_description_t.
struct AllocationText {
  ddss_allocation_t how{};  // without its pointers
  NameText name{};          // empty: none
};

struct alignas(64) Channel {
  alignas(64) std::atomic<std::uint32_t> submitted{0};
  std::atomic<std::uint32_t> daemon_sleeps{0};
  alignas(64) std::atomic<std::uint32_t> answered{0};
  std::atomic<std::uint32_t> client_sleeps{0};
  struct alignas(64) Slot {
    std::atomic<SlotState> state{SlotState::asked};  // from the one to one of the others
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
// Until the count is not `seen`: polls for `spin`, then sleeps for some 50 ms at most. False: it
// still is.
bool await_change(std::atomic<std::uint32_t>& count, std::uint32_t seen,
                  std::atomic<std::uint32_t>& sleeps, std::chrono::microseconds spin);

// An end of the socket, and the channel, mapped.
class ChannelEnd {
 public:
  // Takes the socket. Makes the memory and hands it over; nullptr if that fails.
  static std::unique_ptr<ChannelEnd> offer(int socket);
  // Takes the socket. Waits for the memory, and takes it if it is as it must be.
  static std::unique_ptr<ChannelEnd> take(int socket);
  ~ChannelEnd();
  ChannelEnd(const ChannelEnd&) = delete;
  ChannelEnd& operator=(const ChannelEnd&) = delete;
  Channel& channel() const { return *channel_; }
  int socket() const { return socket_; }
  // 0: the other is there. DDSS_EFULL: it had no room. DDSS_ENODE: it is gone, or hung up, as this
  // end may have.
  int error() const;
  // The other's error() is DDSS_EFULL.
  void refuse() const;
  void hang_up() const;

 private:
  ChannelEnd(int socket, Channel* channel) : socket_(socket), channel_(channel) {}
  int socket_;
  Channel* channel_;
};

}  // namespace iw::ddss
