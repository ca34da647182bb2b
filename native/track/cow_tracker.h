// The trackers of all mechanisms: how an area is made.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "platform/mutex.h"
#include "track/cow_area.h"
#include "track/per_process.h"
#include "track/tracker.h"

namespace iw::track {

// What is to be known of a mechanism to make its tracker.
struct MechanismFacts {
  const char* name;
  bool finds_pages;
  // A stray store to a read-only area is to be reported before it ends the process.
  bool reports_refused_stores;
};

// Makes areas: read-only ones without the mechanism, others as the mechanism says.
class CowTracker : public Tracker {
 public:
  [[nodiscard]] const char* name() const final { return mechanism_.name; }
  [[nodiscard]] bool finds_pages() const final { return mechanism_.finds_pages; }
  std::unique_ptr<Area> create(std::size_t size_bytes, void* wanted_address, bool read_only,
                               int memfd, Status& status, Placement placement) final;
  Status measure_prices(Clock clock) final;
  [[nodiscard]] Prices prices() const final;

 protected:
  explicit CowTracker(const MechanismFacts& mechanism) : mechanism_(mechanism) {}

 private:
  // An area of the mechanism over the views, not yet started.
  virtual Status make_area(TwoViews views, std::unique_ptr<CowArea>& out) = 0;

  std::unique_ptr<CowArea> make_and_start(const AreaRequest& request, Status& status);

  const MechanismFacts mechanism_;
  mutable platform::Mutex mutex_;
  Prices prices_ IW_GUARDED_BY(mutex_);
};

// A mechanism that needs nothing but the views.
template <typename OwnArea>
class PlainTracker final : public CowTracker {
 public:
  explicit PlainTracker(const MechanismFacts& mechanism) : CowTracker(mechanism) {}

 private:
  Status make_area(TwoViews views, std::unique_ptr<CowArea>& out) override {
    out = std::make_unique<OwnArea>(std::move(views));
    return {};
  }
};

// A mechanism whose areas share what the process opened for it (see PerProcess).
template <typename OwnArea, typename Opened>
class SharingTracker final : public CowTracker {
 public:
  explicit SharingTracker(const MechanismFacts& mechanism) : CowTracker(mechanism) {}

  // Whether this machine has what the mechanism needs.
  Status open() {
    std::shared_ptr<const Opened> first;
    return opened_.get(first);
  }

 private:
  Status make_area(TwoViews views, std::unique_ptr<CowArea>& out) override {
    std::shared_ptr<const Opened> opened;
    if (Status bad = opened_.get(opened); !bad) return bad;
    out = std::make_unique<OwnArea>(std::move(views), std::move(opened));
    return {};
  }

  PerProcess<Opened> opened_;
};

template <typename OwnArea, typename Opened>
Status make_sharing_tracker(const MechanismFacts& mechanism, std::unique_ptr<Tracker>& out) {
  auto tracker = std::make_unique<SharingTracker<OwnArea, Opened>>(mechanism);
  if (Status bad = tracker->open(); !bad) return bad;
  out = std::move(tracker);
  return {};
}

}  // namespace iw::track
