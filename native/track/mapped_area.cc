#include "track/mapped_area.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

namespace iw::track {
namespace {

constexpr std::size_t large_area_bytes = 16 << 20;
constexpr int most_new_files = 16;
// For fewer bytes a call of the system costs as much as it saves.
constexpr std::size_t long_write_bytes = 1 << 20;

std::atomic<int> new_files{0};

}  // namespace

void NewFile::keep(platform::FileDescriptor file) {
  if (new_files.fetch_add(1) < most_new_files) {
    file_ = std::move(file);
  } else {
    new_files--;
  }
}

void NewFile::let_go() {
  if (!file_) return;
  file_.close();
  new_files--;
}

bool NewFile::write(std::size_t offset, const void* bytes, std::size_t size_bytes) const {
  return file_ && size_bytes >= long_write_bytes &&
         platform::write_file(file_.get(), offset, bytes, size_bytes).ok();
}

namespace {

// Whether the area has a slice now. Otherwise it is to have mappings of its own.
bool has_taken_slice(const AreaRequest& request, TwoViews& out) {
  const bool is_small = request.size_bytes == slice_bytes && request.memfd < 0;
  if (!is_small || request.wanted_address != nullptr) return false;
  if (!take_slice(request.read_only, out.slice)) return false;
  out.view_begin = out.slice.view();
  out.pristine_begin = out.slice.pristine();
  out.size_bytes = slice_bytes;
  return true;
}

}  // namespace

Status map_two_views(const AreaRequest& request, TwoViews& out) {
  if (has_taken_slice(request, out)) return {};
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
  if (request.size_bytes >= large_area_bytes) out.file.keep(std::move(own));
  out.view_begin = out.view.begin();
  out.pristine_begin = out.pristine.begin();
  out.size_bytes = request.size_bytes;
  return out.pristine.keep_from_children();
}

MappedArea::MappedArea(TwoViews views, Stores stores)
    : views_(std::move(views)),
      made_in_fork_(platform::fork_count()),
      guard_(views_.view_begin, views_.size_bytes, stores) {}

Status MappedArea::apply(std::size_t offset, const void* bytes, std::size_t size) {
  if (Status bad = check_process(); !bad) return bad;
  std::byte* to = begin_apply(offset, size);
  if (to == nullptr) return {EINVAL, "apply: outside the area"};
  if (views_.file.write(offset, bytes, size)) return {};
  if (size != 0) std::memcpy(to, bytes, size);
  return {};
}

Status MappedArea::set_access(Access access) {
  if (Status bad = check_process(); !bad) return bad;
  return guard_.set_access(access);
}

}  // namespace iw::track
