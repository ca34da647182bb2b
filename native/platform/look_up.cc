// Looks up names of hosts by a deadline. The name services of the systems have no deadline: a name
// whose server does not answer may take a minute, and the call cannot be cancelled. Each look-up
// therefore runs on a thread of its own. After the deadline the thread is left alone, and ends when
// the system gives up. There are never more such threads than calls in the time that the system
// allows itself.
#include <cerrno>
#include <chrono>
#include <memory>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "platform/mutex.h"
#include "platform/socket_waits.h"

namespace iw::platform {

namespace {

// Shared by the caller and the thread that asks the system. The last of the two frees it.
struct LookUp {
  Mutex mutex;
  Condition answered;
  bool is_answered IW_GUARDED_BY(mutex) = false;
  Status status IW_GUARDED_BY(mutex);
  std::vector<SocketAddress> addresses IW_GUARDED_BY(mutex);
};

// "[::1]" is "::1" for the name service.
std::string host_without_brackets(const std::string& host) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    return host.substr(1, host.size() - 2);
  }
  return host;
}

Status begin(const std::string& host, std::uint16_t port, const std::shared_ptr<LookUp>& asked) {
  try {
    std::thread([host, port, asked] {
      std::vector<SocketAddress> found;
      Status status;
      try {
        status = look_up_without_deadline(host, port, true, found);
      } catch (const std::bad_alloc&) {
        status = {ENOMEM, "no memory to look the host name up"};
      }
      const MutexLock lock(asked->mutex);
      asked->status = status;
      asked->addresses = std::move(found);
      asked->is_answered = true;
      asked->answered.notify_one();
    }).detach();
  } catch (const std::system_error&) {
    return {ENOMEM, "no thread can be made to look the host name up"};
  }
  return {};
}

}  // namespace

Status look_up(const std::string& host, std::uint16_t port, std::int64_t deadline_ns,
               std::vector<SocketAddress>& out) {
  const std::string plain = host_without_brackets(host);
  const Status as_number = look_up_without_deadline(plain, port, false, out);
  if (as_number.ok() || is_shortage(as_number.code)) return as_number;
  const auto asked = std::make_shared<LookUp>();
  if (Status bad = begin(plain, port, asked); !bad) return bad;
  const MutexLock lock(asked->mutex);
  while (!asked->is_answered) {
    const int left_ms = milliseconds_until(deadline_ns);
    if (left_ms == 0) return {ETIMEDOUT, "the name service does not answer"};
    if (left_ms < 0) {
      asked->answered.wait(asked->mutex);
    } else {
      asked->answered.wait_for(asked->mutex, std::chrono::milliseconds(left_ms));
    }
  }
  out = std::move(asked->addresses);
  return asked->status;
}

Status connect_tcp(const std::string& host, std::uint16_t port, std::int64_t deadline_ns,
                   Socket& out) {
  std::vector<SocketAddress> addresses;
  if (Status bad = look_up(host, port, deadline_ns, addresses); !bad) return bad;
  Status status;
  for (const SocketAddress& one : addresses) {
    status = connect_to(one, deadline_ns, out);
    if (status.ok() || status.code == ETIMEDOUT) break;
  }
  return status;
}

}  // namespace iw::platform
