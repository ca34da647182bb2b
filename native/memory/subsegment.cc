#include "memory/subsegment.h"

#include <cstdint>
#include <new>

#include "platform/invariant.h"

namespace iw::memory {

platform::Status Subsegment::create(track::Tracker& tracker, bool read_only, std::size_t size_bytes,
                                    bool single, AddressSpace& space,
                                    std::unique_ptr<Subsegment>& out) {
  IW_INVARIANT(platform::page_size() <= kGranuleBytes, "pages are larger than granules");
  std::unique_ptr<Subsegment> made(new Subsegment(size_bytes, single));
  std::byte* wanted = space.take(size_bytes);
  if (wanted != nullptr) made->space_ = &space;
  const bool shares = wanted == nullptr && size_bytes == kGranuleBytes && space.is_one_of_many();
  if (wanted == nullptr && !shares) {
    if (platform::Status bad = made->reserve_own(wanted); !bad) return bad;
  }
  platform::Status status;
  made->begin_ = wanted;
  made->area_ =
      tracker.create(size_bytes, wanted, read_only, -1, status,
                     shares ? platform::Placement::if_free : platform::Placement::over_reservation);
  if (made->area_ == nullptr) return status;
  if (shares) made->begin_ = made->area_->view();
  IW_INVARIANT(made->area_->view() == made->begin_, "a view is not where it was wanted");
  IW_INVARIANT(reinterpret_cast<std::uintptr_t>(made->begin_) % kGranuleBytes == 0,
               "a view does not begin at a granule");
  out = std::move(made);
  return {};
}

// A granule more than needed, to find a boundary in it.
platform::Status Subsegment::reserve_own(std::byte*& begin) {
  if (platform::Status bad = platform::reserve(size_bytes_ + kGranuleBytes, nullptr,
                                               platform::Placement::if_free, own_reservation_);
      !bad) {
    return bad;
  }
  const auto at = reinterpret_cast<std::uintptr_t>(own_reservation_.begin());
  begin = own_reservation_.begin() + (kGranuleBytes - at % kGranuleBytes) % kGranuleBytes;
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
