#include "ddss/channel.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <new>

namespace iw::ddss {
namespace {

constexpr timespec sleep_max{0, 50'000'000};
constexpr int polls_a_clock = 64;

Channel* map(int memory) {
  void* mapped = mmap(nullptr, channel_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<Channel*>(mapped);
}

// One message of one byte with a descriptor.
struct Envelope {
  Envelope() {
    part = {&byte, 1};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
  }
  char byte = 0;
  iovec part;
  msghdr header{};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
};

bool send_descriptor(int socket, int descriptor) {
  Envelope envelope;
  cmsghdr* control = CMSG_FIRSTHDR(&envelope.header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(control), &descriptor, sizeof descriptor);
  return sendmsg(socket, &envelope.header, MSG_NOSIGNAL) == 1;
}

int receive_descriptor(int socket, bool* has_room) {
  Envelope envelope;
  if (recvmsg(socket, &envelope.header, MSG_CMSG_CLOEXEC) != 1) return -1;
  // The system drops a descriptor if this process has no place left for it.
  *has_room = (envelope.header.msg_flags & MSG_CTRUNC) == 0;
  const cmsghdr* control = CMSG_FIRSTHDR(&envelope.header);
  int descriptor = -1;
  if (control != nullptr && control->cmsg_type == SCM_RIGHTS &&
      control->cmsg_len == CMSG_LEN(sizeof descriptor)) {
    std::memcpy(&descriptor, CMSG_DATA(control), sizeof descriptor);
  }
  return descriptor;
}

// Whether the maker of this memory can no longer take it away. If it could, an access to the memory
// would end the daemon.
bool stays(int memory) {
  struct stat is;
  const int seals = fcntl(memory, F_GET_SEALS);
  return fstat(memory, &is) == 0 && static_cast<std::size_t>(is.st_size) == channel_bytes &&
         seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

}  // namespace

void wake(std::atomic<std::uint32_t>& count) {
  syscall(SYS_futex, &count, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void count_up(std::atomic<std::uint32_t>& count, std::atomic<std::uint32_t>& other_sleeps) {
  count.fetch_add(1);
  if (other_sleeps.load() != 0) wake(count);
}

bool await_change(std::atomic<std::uint32_t>& count, std::uint32_t seen,
                  std::atomic<std::uint32_t>& sleeps, std::chrono::microseconds spin) {
  const auto spin_until = std::chrono::steady_clock::now() + spin;
  for (int poll = 1; count.load(std::memory_order_acquire) == seen; poll++) {
    if (poll % polls_a_clock != 0) continue;
    if (std::chrono::steady_clock::now() < spin_until) {
      sched_yield();  // the other may have to run on this processor
      continue;
    }
    sleeps = 1;
    if (count == seen) {
      syscall(SYS_futex, &count, FUTEX_WAIT, seen, &sleep_max, nullptr, 0);
    }
    sleeps = 0;
    return count != seen;
  }
  return true;
}

std::unique_ptr<ChannelEnd> ChannelEnd::offer(int socket) {
  const int memory = memfd_create("ddss", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  Channel* channel = nullptr;
  const bool is_made = memory >= 0 && ftruncate(memory, channel_bytes) == 0 &&
                       fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK) == 0;
  if (is_made) channel = map(memory);
  if (channel != nullptr) new (channel) Channel;
  const bool is_sent = channel != nullptr && send_descriptor(socket, memory);
  if (memory >= 0) close(memory);
  std::unique_ptr<ChannelEnd> end(new ChannelEnd(socket, channel));
  return is_sent ? std::move(end) : nullptr;
}

std::unique_ptr<ChannelEnd> ChannelEnd::take(int socket) {
  bool has_room = true;
  const int memory = receive_descriptor(socket, &has_room);
  Channel* channel = nullptr;
  if (memory >= 0 && stays(memory)) {
    channel = map(memory);
    has_room = channel != nullptr;
  }
  if (memory >= 0) close(memory);
  std::unique_ptr<ChannelEnd> end(new ChannelEnd(socket, channel));
  if (!has_room) end->refuse();
  return channel != nullptr ? std::move(end) : nullptr;
}

ChannelEnd::~ChannelEnd() {
  if (channel_ != nullptr) munmap(channel_, channel_bytes);
  close(socket_);
}

void ChannelEnd::refuse() const { send(socket_, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT); }

void ChannelEnd::hang_up() const { shutdown(socket_, SHUT_RDWR); }

int ChannelEnd::error() const {
  char byte;
  const ssize_t count = recv(socket_, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
  if (count > 0) return DDSS_EFULL;
  const bool is_there = count < 0 && (errno == EAGAIN || errno == EINTR);
  return is_there ? 0 : DDSS_ENODE;
}

}  // namespace iw::ddss
