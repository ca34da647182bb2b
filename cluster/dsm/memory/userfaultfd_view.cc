// The view's protection by userfaultfd: a fault is a SIGBUS. A page that may be accessed has its
// entries in the page table. A page that may only be loaded has entries that are protected against
// stores. A page that may not be accessed has none; its bytes are in the file all the same.
//
// Faults of the kernel, in system calls, fail with EFAULT, because the descriptor is for user mode
// only. Therefore it needs no privilege.
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "dsm/memory/view_protection.h"
#include "dsm/protocol/fault_memory.h"

namespace iw::dsm {
namespace {

// Newer than the headers that this is compiled with.
#ifndef UFFDIO_CONTINUE_MODE_WP
constexpr std::uint64_t UFFDIO_CONTINUE_MODE_WP = std::uint64_t{1} << 1;
#endif

// UIO_MAXIOV
constexpr std::size_t pieces_most = 1024;
// Memory is asked for in such pieces.
constexpr std::size_t given_bytes = 65536;

class UserfaultfdView final : public ViewProtection {
 public:
  UserfaultfdView(const View& view, int descriptor)
      : view_(view),
        descriptor_(descriptor),
        process_(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0))),
        closes_many_(process_ >= 0),
        system_page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {}
  ~UserfaultfdView() override {
    close(descriptor_);
    if (process_ >= 0) close(process_);
  }

  FaultWay way() const override { return FaultWay::userfaultfd; }
  int signal_number() const override { return SIGBUS; }

  bool close_all() override {
    uffdio_register wish{};
    wish.range = range(0, view_.bytes);
    wish.mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR | UFFDIO_REGISTER_MODE_WP;
    if (ioctl(descriptor_, UFFDIO_REGISTER, &wish) != 0) return false;
    return madvise(view_.begin, view_.bytes, MADV_DONTNEED) == 0;
  }

  bool change(std::size_t offset, std::size_t bytes, Access from, Access to) override {
    if (to == Access::none) return madvise(view_.begin + offset, bytes, MADV_DONTNEED) == 0;
    if (from == Access::none) return open_again(offset, bytes, to);
    return protect(offset, bytes, to);
  }

  bool change_all(std::span<const Stretch> stretches, Access to) override {
    return to == Access::none ? close_stretches(stretches)
                              : ViewProtection::change_all(stretches, to);
  }

  // Loads of a page that has entries are let through, and entries that are made of one that has
  // none do not open it.
  bool spares_closed_pages() const override { return true; }

  bool open_again(std::size_t offset, std::size_t bytes, Access access) override {
    const std::size_t end = offset + bytes;
    bool is_given = false;  // the system was asked for the memory at `offset`
    while (offset < end) {
      uffdio_continue wish{};
      wish.range = range(offset, end - offset);
      wish.mode = access == Access::write ? 0 : UFFDIO_CONTINUE_MODE_WP;
      if (ioctl(descriptor_, UFFDIO_CONTINUE, &wish) == 0) return true;
      if (wish.mapped > 0) {
        offset += static_cast<std::size_t>(wish.mapped);
        is_given = false;
      } else if (errno == EEXIST) {
        if (!protect(offset, system_page_, access)) return false;
        offset += system_page_;
        is_given = false;
      } else if (errno == EFAULT && !is_given) {
        // The file has nothing there yet: zeroes.
        if (!give_memory(offset, std::min(end - offset, given_bytes))) return false;
        is_given = true;
      } else if (errno != EAGAIN) {
        return false;
      }
    }
    return true;
  }

  // The kernel has this way, and lets this process have it. Tried with a page.
  bool works() {
    uffdio_api api{};
    api.api = UFFD_API;
    api.features = UFFD_FEATURE_SIGBUS | UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_MINOR_SHMEM |
                   UFFD_FEATURE_WP_HUGETLBFS_SHMEM | UFFD_FEATURE_PAGEFAULT_FLAG_WP;
    uffdio_range all = range(0, view_.bytes);
    return ioctl(descriptor_, UFFDIO_API, &api) == 0 && close_all() &&
           open_again(0, system_page_, Access::read) &&
           change(0, system_page_, Access::read, Access::none) &&
           ioctl(descriptor_, UFFDIO_UNREGISTER, &all) == 0;
  }

 private:
  uffdio_range range(std::size_t offset, std::size_t bytes) const {
    return {reinterpret_cast<std::uintptr_t>(view_.begin) + offset, bytes};
  }

  // With one call for many, which empties the processors' translations once (Linux 6.16). An older
  // kernel refuses it.
  bool close_stretches(std::span<const Stretch> stretches) {
    while (closes_many_ && stretches.size() > 1) {
      pieces_.clear();
      for (const Stretch& each : stretches.first(std::min(stretches.size(), pieces_most))) {
        pieces_.push_back({view_.begin + each.offset, each.bytes});
      }
      const long done =
          syscall(SYS_process_madvise, process_, pieces_.data(), pieces_.size(), MADV_DONTNEED, 0);
      closes_many_ = done > 0;
      for (long left = done; left > 0 && !stretches.empty(); stretches = stretches.subspan(1)) {
        left -= static_cast<long>(stretches.front().bytes);
        if (left < 0) break;
      }
    }
    return std::ranges::all_of(stretches, [&](const Stretch& each) {
      return madvise(view_.begin + each.offset, each.bytes, MADV_DONTNEED) == 0;
    });
  }

  bool protect(std::size_t offset, std::size_t bytes, Access access) {
    uffdio_writeprotect wish{};
    wish.range = range(offset, bytes);
    wish.mode = access == Access::write ? 0 : UFFDIO_WRITEPROTECT_MODE_WP;
    int result;
    do {
      result = ioctl(descriptor_, UFFDIO_WRITEPROTECT, &wish);
    } while (result != 0 && errno == EAGAIN);
    return result == 0;
  }

  bool give_memory(std::size_t offset, std::size_t bytes) {
    int result;
    do {
      result = fallocate(view_.file, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
    } while (result != 0 && errno == EINTR);
    return result == 0;
  }

  const View view_;
  const int descriptor_;
  const int process_;  // this one
  bool closes_many_;
  FaultVector<iovec> pieces_;
  const std::size_t system_page_;
};

}  // namespace

std::unique_ptr<ViewProtection> protect_by_userfaultfd(const View& view, std::string* error) {
  const long descriptor = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
  if (descriptor >= 0) {
    auto made = std::make_unique<UserfaultfdView>(view, static_cast<int>(descriptor));
    if (made->works()) return made;
  }
  *error = std::string("userfaultfd for shared memory, as of Linux 6.4, is not to be had here: ") +
           std::strerror(errno) + "; set IW_DSM_FAULTS=sigsegv, or leave the choice to the system";
  return nullptr;
}

std::unique_ptr<ViewProtection> ViewProtection::make(FaultWay way, const View& view,
                                                     std::string* error) {
  if (way == FaultWay::sigsegv) return protect_by_mprotect(view);
  auto made = protect_by_userfaultfd(view, error);
  if (made != nullptr || way == FaultWay::userfaultfd) return made;
  error->clear();
  return protect_by_mprotect(view);
}

}  // namespace iw::dsm
