// The definitions are the C library's symbols; checks of theirs that are macros would define
// others.
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS
#include "dsm/memory/interpose.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <span>

#include "dsm/memory/faults.h"
#include "dsm/memory/next_function.h"

namespace iw::dsm {
namespace {

// Memory that a call loads or stores.
struct Part {
  const void* begin;
  std::size_t bytes;
  Access wanted;

  bool is_shared() const { return begin != nullptr && is_in_heap(begin, bytes); }
  void open(Access access) const {
    if (begin != nullptr) open_for_call(begin, bytes, access);
  }
};

// EFAULT that stays has another reason: memory that is not the heap's.
constexpr int most_tries = 100;

// Where copies are limited, the last pages of a long part may close its first ones. Pages that are
// open for stores stay.
Access access_at(int tries, Access wanted) {
  constexpr int tries_as_wanted = 4;
  return tries <= tries_as_wanted ? wanted : Access::write;
}

// open(tries): opens the pages.
template <typename Open, typename Call>
ssize_t with_open_pages(Open open, Call call) {
  for (int tries = 1;; tries++) {
    open(tries);
    const ssize_t result = call();
    if (result >= 0 || errno != EFAULT || tries == most_tries) return result;
  }
}

template <typename Call>
ssize_t with_open_pages(const Part& part, Call call) {
  return with_open_pages([&](int tries) { part.open(access_at(tries, part.wanted)); }, call);
}

bool is_ordinary_file(int file) {
  struct stat about {};
  return fstat(file, &about) == 0 && S_ISREG(about.st_mode);
}

// `call` transfers what lies from a byte on. Programs rely on it that a file is read and written in
// one piece, which ends too early at a page that was closed meanwhile.
template <typename Call>
ssize_t transfer(int file, const void* buffer, std::size_t bytes, Access wanted, Call call) {
  const auto* const begin = static_cast<const std::byte*>(buffer);
  std::size_t done = 0;
  for (;;) {
    const Part rest{begin + done, bytes - done, wanted};
    const ssize_t result = with_open_pages(rest, [&] { return call(done, rest.bytes); });
    if (result < 0 && done == 0) return result;
    if (result > 0) done += static_cast<std::size_t>(result);
    if (result <= 0 || done == bytes || !is_ordinary_file(file)) {
      return static_cast<ssize_t>(done);
    }
  }
}

// The memory of a message: its head, address, control data, list of parts, and these.
template <typename Do>
void for_each_part(const msghdr& message, Access wanted, Do visit) {
  visit(Part{&message, sizeof message, wanted});
  visit(Part{message.msg_name, message.msg_namelen, wanted});
  visit(Part{message.msg_control, message.msg_controllen, wanted});
  visit(Part{message.msg_iov, message.msg_iovlen * sizeof(iovec), Access::read});
  for (const iovec& each : std::span(message.msg_iov, message.msg_iovlen)) {
    visit(Part{each.iov_base, each.iov_len, wanted});
  }
}

// A count of parts that the kernel refuses is not looked at.
template <typename Call>
ssize_t transfer_message(const msghdr& message, Access wanted, Call call) {
  const bool has_parts = message.msg_iov != nullptr && message.msg_iovlen <= IOV_MAX;
  if (!has_parts) return call();
  bool is_shared = false;
  for_each_part(message, wanted, [&](const Part& part) { is_shared |= part.is_shared(); });
  if (!is_shared) return call();
  const auto open = [&](int tries) {
    for_each_part(message, wanted,
                  [&](const Part& part) { part.open(access_at(tries, part.wanted)); });
  };
  return with_open_pages(open, call);
}

// As a message that has parts only.
template <typename Call>
ssize_t transfer_parts(const iovec* parts, int count, Access wanted, Call call) {
  if (count <= 0) return call();
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts);
  message.msg_iovlen = static_cast<std::size_t>(count);
  return transfer_message(message, wanted, call);
}

// stdio tells how many bytes it transferred before it failed, if they are its items.
template <typename Call>
std::size_t transfer_items(const void* buffer, std::size_t item_bytes, std::size_t items,
                           Access wanted, FILE* stream, Call call) {
  std::size_t bytes;
  const bool is_countable = !__builtin_mul_overflow(item_bytes, items, &bytes) && bytes != 0;
  if (!is_countable || !is_in_heap(buffer, bytes)) return call(buffer, item_bytes, items);
  const bool had_failed = ferror(stream) != 0;
  const auto* const begin = static_cast<const std::byte*>(buffer);
  std::size_t done = 0;
  for (int tries = 1; done < bytes; tries++) {
    open_for_call(begin + done, bytes - done, access_at(tries, wanted));
    errno = 0;
    const std::size_t result = call(begin + done, 1, bytes - done);
    done += result;
    if (result > 0) tries = 1;
    if (errno != EFAULT || had_failed || tries == most_tries) break;
    clearerr(stream);
  }
  return done / item_bytes;
}

// Returns the signals to be blocked without the signals of faults. If `change` has no signal of
// faults, returns `change` itself.
const sigset_t* without_faults(int how, const sigset_t* change, sigset_t* without) {
  if (change == nullptr || how == SIG_UNBLOCK) return change;
  bool is_less = false;
  for (const int each : {SIGSEGV, SIGBUS}) {
    if (!takes_faults(each) || sigismember(change, each) != 1) continue;
    if (!is_less) *without = *change;
    is_less = true;
    sigdelset(without, each);
  }
  return is_less ? without : change;
}

}  // namespace

void interpose_system_calls() {}

}  // namespace iw::dsm

// The C library's functions have no namespace.
using namespace iw::dsm;

#define IW_INTERPOSED __attribute__((weak, visibility("default")))

extern "C" {

IW_INTERPOSED ssize_t read(int file, void* buffer, std::size_t bytes) {
  static constinit Next<ssize_t(int, void*, std::size_t)> next("read");
  if (!is_in_heap(buffer, bytes)) return next.get()(file, buffer, bytes);
  return transfer(file, buffer, bytes, Access::write, [&](std::size_t from, std::size_t count) {
    return next.get()(file, static_cast<char*>(buffer) + from, count);
  });
}

IW_INTERPOSED ssize_t write(int file, const void* buffer, std::size_t bytes) {
  static constinit Next<ssize_t(int, const void*, std::size_t)> next("write");
  if (!is_in_heap(buffer, bytes)) return next.get()(file, buffer, bytes);
  return transfer(file, buffer, bytes, Access::read, [&](std::size_t from, std::size_t count) {
    return next.get()(file, static_cast<const char*>(buffer) + from, count);
  });
}

IW_INTERPOSED ssize_t pread(int file, void* buffer, std::size_t bytes, off_t at) {
  static constinit Next<ssize_t(int, void*, std::size_t, off_t)> next("pread");
  if (!is_in_heap(buffer, bytes)) return next.get()(file, buffer, bytes, at);
  return transfer(file, buffer, bytes, Access::write, [&](std::size_t from, std::size_t count) {
    return next.get()(file, static_cast<char*>(buffer) + from, count,
                      at + static_cast<off_t>(from));
  });
}

IW_INTERPOSED ssize_t pread64(int file, void* buffer, std::size_t bytes, off64_t at) {
  static constinit Next<ssize_t(int, void*, std::size_t, off64_t)> next("pread64");
  if (!is_in_heap(buffer, bytes)) return next.get()(file, buffer, bytes, at);
  return transfer(file, buffer, bytes, Access::write, [&](std::size_t from, std::size_t count) {
    return next.get()(file, static_cast<char*>(buffer) + from, count,
                      at + static_cast<off64_t>(from));
  });
}

IW_INTERPOSED ssize_t pwrite(int file, const void* buffer, std::size_t bytes, off_t at) {
  static constinit Next<ssize_t(int, const void*, std::size_t, off_t)> next("pwrite");
  if (!is_in_heap(buffer, bytes)) return next.get()(file, buffer, bytes, at);
  return transfer(file, buffer, bytes, Access::read, [&](std::size_t from, std::size_t count) {
    return next.get()(file, static_cast<const char*>(buffer) + from, count,
                      at + static_cast<off_t>(from));
  });
}

IW_INTERPOSED ssize_t pwrite64(int file, const void* buffer, std::size_t bytes, off64_t at) {
  static constinit Next<ssize_t(int, const void*, std::size_t, off64_t)> next("pwrite64");
  if (!is_in_heap(buffer, bytes)) return next.get()(file, buffer, bytes, at);
  return transfer(file, buffer, bytes, Access::read, [&](std::size_t from, std::size_t count) {
    return next.get()(file, static_cast<const char*>(buffer) + from, count,
                      at + static_cast<off64_t>(from));
  });
}

IW_INTERPOSED ssize_t readv(int file, const iovec* parts, int count) {
  static constinit Next<ssize_t(int, const iovec*, int)> next("readv");
  return transfer_parts(parts, count, Access::write,
                        [&] { return next.get()(file, parts, count); });
}

IW_INTERPOSED ssize_t writev(int file, const iovec* parts, int count) {
  static constinit Next<ssize_t(int, const iovec*, int)> next("writev");
  return transfer_parts(parts, count, Access::read, [&] { return next.get()(file, parts, count); });
}

IW_INTERPOSED ssize_t recv(int socket, void* buffer, std::size_t bytes, int flags) {
  static constinit Next<ssize_t(int, void*, std::size_t, int)> next("recv");
  const Part part{buffer, bytes, Access::write};
  if (!part.is_shared()) return next.get()(socket, buffer, bytes, flags);
  return with_open_pages(part, [&] { return next.get()(socket, buffer, bytes, flags); });
}

IW_INTERPOSED ssize_t send(int socket, const void* buffer, std::size_t bytes, int flags) {
  static constinit Next<ssize_t(int, const void*, std::size_t, int)> next("send");
  const Part part{buffer, bytes, Access::read};
  if (!part.is_shared()) return next.get()(socket, buffer, bytes, flags);
  return with_open_pages(part, [&] { return next.get()(socket, buffer, bytes, flags); });
}

IW_INTERPOSED ssize_t recvfrom(int socket, void* buffer, std::size_t bytes, int flags,
                               sockaddr* from, socklen_t* from_bytes) {
  static constinit Next<ssize_t(int, void*, std::size_t, int, sockaddr*, socklen_t*)> next(
      "recvfrom");
  const iovec part{buffer, bytes};
  msghdr message{};
  message.msg_name = from_bytes != nullptr ? from : nullptr;
  message.msg_namelen = from_bytes != nullptr ? *from_bytes : 0;
  message.msg_control = from_bytes;  // it is to be opened, too
  message.msg_controllen = from_bytes != nullptr ? sizeof *from_bytes : 0;
  message.msg_iov = const_cast<iovec*>(&part);
  message.msg_iovlen = 1;
  return transfer_message(message, Access::write, [&] {
    return next.get()(socket, buffer, bytes, flags, from, from_bytes);
  });
}

IW_INTERPOSED ssize_t sendto(int socket, const void* buffer, std::size_t bytes, int flags,
                             const sockaddr* to, socklen_t to_bytes) {
  static constinit Next<ssize_t(int, const void*, std::size_t, int, const sockaddr*, socklen_t)>
      next("sendto");
  const iovec part{const_cast<void*>(buffer), bytes};
  msghdr message{};
  message.msg_name = const_cast<sockaddr*>(to);
  message.msg_namelen = to_bytes;
  message.msg_iov = const_cast<iovec*>(&part);
  message.msg_iovlen = 1;
  return transfer_message(message, Access::read,
                          [&] { return next.get()(socket, buffer, bytes, flags, to, to_bytes); });
}

IW_INTERPOSED ssize_t recvmsg(int socket, msghdr* message, int flags) {
  static constinit Next<ssize_t(int, msghdr*, int)> next("recvmsg");
  return transfer_message(*message, Access::write,
                          [&] { return next.get()(socket, message, flags); });
}

IW_INTERPOSED ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  static constinit Next<ssize_t(int, const msghdr*, int)> next("sendmsg");
  return transfer_message(*message, Access::read,
                          [&] { return next.get()(socket, message, flags); });
}

IW_INTERPOSED std::size_t fread(void* buffer, std::size_t item_bytes, std::size_t items,
                                FILE* stream) {
  static constinit Next<std::size_t(void*, std::size_t, std::size_t, FILE*)> next("fread");
  return transfer_items(buffer, item_bytes, items, Access::write, stream,
                        [&](const void* to, std::size_t size, std::size_t count) {
                          return next.get()(const_cast<void*>(to), size, count, stream);
                        });
}

IW_INTERPOSED std::size_t fwrite(const void* buffer, std::size_t item_bytes, std::size_t items,
                                 FILE* stream) {
  static constinit Next<std::size_t(const void*, std::size_t, std::size_t, FILE*)> next("fwrite");
  return transfer_items(buffer, item_bytes, items, Access::read, stream,
                        [&](const void* from, std::size_t size, std::size_t count) {
                          return next.get()(from, size, count, stream);
                        });
}

// A program blocks all signals in its threads, so that one thread waits for them. A fault while its
// signal is blocked would end the process.
IW_INTERPOSED int pthread_sigmask(int how, const sigset_t* change, sigset_t* before) {
  static constinit Next<int(int, const sigset_t*, sigset_t*)> next("pthread_sigmask");
  sigset_t without;
  return next.get()(how, without_faults(how, change, &without), before);
}

IW_INTERPOSED int sigprocmask(int how, const sigset_t* change, sigset_t* before) {
  static constinit Next<int(int, const sigset_t*, sigset_t*)> next("sigprocmask");
  sigset_t without;
  return next.get()(how, without_faults(how, change, &without), before);
}

}  // extern "C"
