#include "memory/subsegment.h"

#include <new>

#include "platform/invariant.h"

namespace iw::memory {

platform::Status Subsegment::create(track::Tracker& tracker, bool read_only, std::size_t size_bytes,
                                    bool single, AddressSpace& space,
                                    std::unique_ptr<Subsegment>& out) {
  IW_INVARIANT(platform::page_size() <= kGranuleBytes, "pages are larger than granules");
  std::unique_ptr<Subsegment> made(new Subsegment(size_bytes, single));
  std::byte* wanted = space.take(size_bytes);
  if (wanted != nullptr) {
    made->space_ = &space;
  } else {
    // A granule more than needed, to find a boundary in it.
    if (platform::Status bad =
            platform::reserve(size_bytes + kGranuleBytes, nullptr, platform::Placement::if_free,
                              made->own_reservation_);
        !bad) {
      return bad;
    }
    const auto at = reinterpret_cast<std::uintptr_t>(made->own_reservation_.begin());
    wanted = made->own_reservation_.begin() + (kGranuleBytes - at % kGranuleBytes) % kGranuleBytes;
  }
  made->begin_ = wanted;
  platform::Status status;
  made->area_ = tracker.create(size_bytes, wanted, read_only, -1, status,
                               platform::Placement::over_reservation);
  if (made->area_ == nullptr) return status;
  IW_INVARIANT(made->area_->view() == wanted, "a view is not where it was wanted");
  out = std::move(made);
  return {};
}

Subsegment::~Subsegment() {
  area_.reset();
  if (space_ == nullptr) return;
  try {
    space_->give_back(begin_, size_bytes_);
  } catch (const std::bad_alloc&) {
    // These addresses are not used again.
  }
}

}  // namespace iw::memory
