// The view's protection by mprotect: a fault is a SIGSEGV.
#include <signal.h>
#include <sys/mman.h>

#include <cerrno>

#include "dsm/memory/view_protection.h"

namespace iw::dsm {
namespace {

int flags_of(Access access) {
  switch (access) {
    case Access::none:
      return PROT_NONE;
    case Access::read:
      return PROT_READ;
    case Access::write:
      break;
  }
  return PROT_READ | PROT_WRITE;
}

class MprotectView final : public ViewProtection {
 public:
  explicit MprotectView(const View& view) : view_(view) {}

  FaultWay way() const override { return FaultWay::sigsegv; }
  int signal_number() const override { return SIGSEGV; }
  bool close_all() override { return mprotect(view_.begin, view_.bytes, PROT_NONE) == 0; }

  bool change(std::size_t offset, std::size_t bytes, Access, Access to) override {
    return open_again(offset, bytes, to);
  }

  bool open_again(std::size_t offset, std::size_t bytes, Access access) override {
    std::byte* const begin = view_.begin + offset;
    if (mprotect(begin, bytes, flags_of(access)) == 0) return true;
    // The process has as many mappings as it may. The whole view with one protection is one of
    // them; pages that may be accessed fault, and are opened again.
    if (errno != ENOMEM || !close_all()) return false;
    return mprotect(begin, bytes, flags_of(access)) == 0;
  }

 private:
  const View view_;
};

}  // namespace

std::unique_ptr<ViewProtection> protect_by_mprotect(const View& view) {
  return std::make_unique<MprotectView>(view);
}

}  // namespace iw::dsm
