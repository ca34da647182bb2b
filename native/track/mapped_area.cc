#include "track/mapped_area.h"

#include <cerrno>
#include <cstring>
#include <utility>

namespace iw::track {

Status map_two_views(const AreaRequest& request, TwoViews& out) {
  platform::FileDescriptor own;
  int fd = request.memfd;
  if (fd < 0) {
    if (Status bad = platform::create_shared_memory(request.size_bytes, own); !bad) return bad;
    fd = own.get();
  } else {
    std::size_t file_bytes = 0;
    if (Status bad = platform::file_size(fd, file_bytes); !bad) return bad;
    if (file_bytes < request.size_bytes) return {EINVAL, "the file is smaller than the area"};
  }
  // The view first: the pristine copy, placed anywhere, might take the wanted address.
  platform::MapRequest view;
  view.fd = fd;
  view.size_bytes = request.size_bytes;
  view.private_view = !request.read_only;
  view.protection =
      request.read_only ? platform::Protection::read : platform::Protection::read_write;
  view.wanted = request.wanted_address;
  view.placement = request.placement;
  if (Status bad = platform::map_file(view, out.view); !bad) return bad;
  platform::MapRequest pristine;
  pristine.fd = fd;
  pristine.size_bytes = request.size_bytes;
  if (Status bad = platform::map_file(pristine, out.pristine); !bad) return bad;
  return out.pristine.keep_from_children();
}

MappedArea::MappedArea(TwoViews views, Stores stores)
    : views_(std::move(views)),
      made_in_fork_(platform::fork_count()),
      guard_(views_.view.begin(), views_.view.size_bytes(), stores) {}

Status MappedArea::apply(std::size_t offset, const void* bytes, std::size_t size) {
  if (Status bad = check_process(); !bad) return bad;
  std::byte* to = begin_apply(offset, size);
  if (to == nullptr) return {EINVAL, "apply: outside the area"};
  if (size != 0) std::memcpy(to, bytes, size);
  return {};
}

Status MappedArea::set_access(Access access) {
  if (Status bad = check_process(); !bad) return bad;
  return guard_.set_access(access);
}

}  // namespace iw::track
