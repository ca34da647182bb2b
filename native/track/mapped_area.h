// The part that all areas share: the two mappings over one anonymous file, the process that they
// belong to, and the guard of the view. How stores are treated is not shared (cow_area.h,
// read_only.cc).
#pragma once

#include <cerrno>
#include <cstddef>
#include <span>
#include <utility>

#include "platform/file_descriptor.h"
#include "platform/memory.h"
#include "platform/process.h"
#include "track/slab.h"
#include "track/tracker.h"
#include "track/view_guard.h"

namespace iw::track {

struct AreaRequest {
  std::size_t size_bytes;
  void* wanted_address;
  bool read_only;
  int memfd;  // or -1
  Placement placement;
};

// The file of a large area that has no pages yet. A write into the file makes pages without
// clearing them first. A process has few descriptors, so a few areas at a time keep theirs.
class NewFile {
 public:
  NewFile() = default;
  ~NewFile() { let_go(); }
  NewFile(NewFile&& other) noexcept : file_(std::move(other.file_)) {}
  NewFile& operator=(NewFile&&) = delete;

  // Takes the descriptor, or closes it.
  void keep(platform::FileDescriptor file);
  void let_go();
  // False: it was not written to.
  [[nodiscard]] bool write(std::size_t offset, const void* bytes, std::size_t size_bytes) const;

 private:
  platform::FileDescriptor file_;
};

// The pristine copy (not inherited by children) and the view over it: mappings of their own, or a
// slice.
struct TwoViews {
  std::byte* view_begin = nullptr;
  std::byte* pristine_begin = nullptr;
  std::size_t size_bytes = 0;
  platform::Mapping pristine;
  platform::Mapping view;
  Slice slice;
  NewFile file;
};
Status map_two_views(const AreaRequest& request, TwoViews& out);

class MappedArea : public Area {
 public:
  std::byte* view() const final { return views_.view_begin; }
  std::byte* pristine() const final { return views_.pristine_begin; }
  std::size_t size_bytes() const final { return views_.size_bytes; }

  // Inline, because a diff of scattered changes calls it for each run.
  std::byte* begin_apply(std::size_t offset, std::size_t size) override {
    if (!check_process() || offset > size_bytes() || size > size_bytes() - offset) return nullptr;
    return pristine() + offset;
  }
  Status apply(std::size_t offset, const void* bytes, std::size_t size_bytes) final;
  Status set_access(Access access) final;

 protected:
  MappedArea(TwoViews views, Stores stores);

  // ECHILD in a forked child.
  [[nodiscard]] Status check_process() const {
    if (made_in_fork_ == platform::fork_count()) return {};
    return {ECHILD, "the memory belongs to the process before fork"};
  }
  ViewGuard& guard() { return guard_; }
  // The first bytes have arrived, or the application may have stored some: most pages are there.
  void has_pages() { views_.file.let_go(); }

 private:
  TwoViews views_;
  const unsigned made_in_fork_;
  ViewGuard guard_;  // last: it handles faults of a view that is there
};

}  // namespace iw::track
