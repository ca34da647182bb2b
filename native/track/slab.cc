#include "track/slab.h"

#include <cerrno>
#include <cstdint>
#include <utility>

#include "platform/mutex.h"
#include "platform/no_fork.h"
#include "platform/process.h"

namespace iw::track {

struct Slab {
  platform::Mapping reservation;  // the view lies in it, and ends first
  platform::Mapping pristine;
  platform::Mapping view;
  unsigned made_in_fork = 0;
};

namespace {

std::byte* aligned(std::byte* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  return address + (slice_bytes - at % slice_bytes) % slice_bytes;
}

// A slice more than needed is reserved, to find a boundary in it.
Status reserve_aligned(platform::Mapping& out) {
  return platform::reserve(slab_bytes + slice_bytes, nullptr, platform::Placement::if_free, out);
}

Status make_slab(bool read_only, std::shared_ptr<const Slab>& out) {
  auto made = std::make_shared<Slab>();
  platform::FileDescriptor file;
  if (Status bad = platform::create_shared_memory(slab_bytes, file); !bad) return bad;
  if (Status bad = reserve_aligned(made->reservation); !bad) return bad;
  platform::MapRequest view;
  view.fd = file.get();
  view.size_bytes = slab_bytes;
  view.private_view = !read_only;
  view.protection = read_only ? platform::Protection::read : platform::Protection::read_write;
  view.wanted = aligned(made->reservation.begin());
  view.placement = platform::Placement::over_reservation;
  if (Status bad = platform::map_file(view, made->view); !bad) return bad;
  platform::MapRequest pristine;
  pristine.fd = file.get();
  pristine.size_bytes = slab_bytes;
  if (Status bad = platform::map_file(pristine, made->pristine); !bad) return bad;
  if (Status bad = made->pristine.keep_from_children(); !bad) return bad;
  made->made_in_fork = platform::fork_count();
  out = std::move(made);
  return {};
}

// The slab from which slices are taken now. A forked child begins its own.
struct Source {
  platform::Mutex mutex;
  std::shared_ptr<const Slab> slab IW_GUARDED_BY(mutex);
  std::size_t used_bytes IW_GUARDED_BY(mutex) = 0;
};

Source& source_of(bool read_only) {
  // Never destroyed, because areas may end after static objects have.
  static auto* const sources = new Source[2];
  return sources[read_only ? 1 : 0];
}

}  // namespace

Status take_slice(bool read_only, Slice& out) {
  if constexpr (!platform::can_drop_private_pages) return {ENOTSUP, "slices"};
  const platform::NoFork no_fork;
  Source& source = source_of(read_only);
  const platform::MutexLock lock(source.mutex);
  const bool is_usable = source.slab != nullptr && source.used_bytes < slab_bytes &&
                         source.slab->made_in_fork == platform::fork_count();
  if (!is_usable) {
    source.slab = nullptr;
    if (Status bad = make_slab(read_only, source.slab); !bad) return bad;
    source.used_bytes = 0;
  }
  out.slab_ = source.slab;
  out.view_ = source.slab->view.begin() + source.used_bytes;
  out.pristine_ = source.slab->pristine.begin() + source.used_bytes;
  source.used_bytes += slice_bytes;
  return {};
}

Slice::~Slice() {
  if (slab_ == nullptr || slab_->made_in_fork != platform::fork_count()) return;
  // A page that stays takes memory until the slab ends, and nobody uses it.
  (void)platform::drop_private_pages(view_, slice_bytes);
  (void)platform::drop_file_pages(pristine_, slice_bytes);
}

}  // namespace iw::track
