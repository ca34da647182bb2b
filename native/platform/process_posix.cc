// POSIX.
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "platform/process.h"

namespace iw::platform {

namespace {

std::atomic<unsigned> forks{0};

// Registered when the library is loaded, so that no fork can come before it.
[[maybe_unused]] const int registered =
    pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

std::int64_t process_id() { return getpid(); }

std::string program_name() {
#ifdef __linux__
  return program_invocation_short_name;
#else
  return getprogname();
#endif
}

std::string host_name() {
  std::array<char, 256> name{};
  // The last byte stays 0, because a longer name need not be terminated.
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

unsigned fork_count() noexcept { return forks.load(std::memory_order_relaxed); }

bool other_threads_are_gone() noexcept { return false; }

void write_to_stderr(std::span<const std::string_view> pieces) noexcept {
  constexpr std::size_t most = 16;
  std::array<iovec, most> vector{};
  const std::size_t count = std::min(pieces.size(), most);
  for (std::size_t i = 0; i < count; ++i) {
    vector[i] = {const_cast<char*>(pieces[i].data()), pieces[i].size()};
  }
  // Nothing can be done here about a standard error that is closed.
  [[maybe_unused]] const auto written =
      writev(STDERR_FILENO, vector.data(), static_cast<int>(count));
}

Status random_bytes(std::span<std::byte> out) {
  constexpr std::size_t limit_bytes = 256;  // of one getentropy call
  for (std::size_t done = 0; done < out.size(); done += limit_bytes) {
    const std::size_t part = std::min(limit_bytes, out.size() - done);
    if (getentropy(out.data() + done, part) != 0) return last_failure("getentropy");
  }
  return {};
}

}  // namespace iw::platform
