// Areas of a segment opened read-only: no second copy. The view is the same memory as the
// "pristine copy", through which the library writes what arrives.
#include <cerrno>
#include <cstring>
#include <utility>

#include "platform/process.h"
#include "track/mechanisms.h"

namespace iw::track {

namespace {

constexpr Status refused{EACCES, "the area is read-only"};

class ReadOnlyArea final : public Area {
 public:
  explicit ReadOnlyArea(TwoViews views)
      : views_(std::move(views)),
        made_in_fork_(platform::fork_count()),
        guard_(views_.view.begin(), views_.view.size_bytes(), Stores::refused) {}

  Status report_stores() { return guard_.start(); }

  std::byte* view() const override { return views_.view.begin(); }
  std::byte* pristine() const override { return views_.pristine.begin(); }
  std::size_t size_bytes() const override { return views_.view.size_bytes(); }

  Status arm() override { return refused; }

  Status collect(std::vector<PageRange>& dirty) override {
    dirty.clear();
    return check_process();
  }

  std::byte* begin_apply(std::size_t offset, std::size_t size) override {
    if (!check_process() || offset > size_bytes() || size > size_bytes() - offset) return nullptr;
    return pristine() + offset;
  }

  Status apply(std::size_t offset, const void* bytes, std::size_t size) override {
    if (Status bad = check_process(); !bad) return bad;
    std::byte* to = begin_apply(offset, size);
    if (to == nullptr) return {EINVAL, "apply: outside the area"};
    if (size != 0) std::memcpy(to, bytes, size);
    return {};
  }

  Status apply_done() override { return check_process(); }
  Status commit(std::span<const PageRange>) override { return refused; }
  Status commit_some(std::span<const PageRange>) override { return refused; }
  Status rollback(std::span<const PageRange>) override { return check_process(); }
  void list_again(std::span<const PageRange>) override {}
  Status show_pristine() override { return check_process(); }

  Status set_access(Access access) override {
    if (Status bad = check_process(); !bad) return bad;
    return guard_.set_access(access);
  }

 private:
  [[nodiscard]] Status check_process() const {
    if (made_in_fork_ == platform::fork_count()) return {};
    return {ECHILD, "the memory belongs to the process before fork"};
  }

  TwoViews views_;
  const unsigned made_in_fork_;
  ViewGuard guard_;
};

}  // namespace

std::unique_ptr<Area> create_read_only(const AreaRequest& request, bool reports_stores,
                                       Status& status) {
  TwoViews views;
  status = map_two_views(request, views);
  if (!status.ok()) return nullptr;
  auto area = std::make_unique<ReadOnlyArea>(std::move(views));
  if (reports_stores) status = area->report_stores();
  if (!status.ok()) return nullptr;
  return area;
}

}  // namespace iw::track
