// Chooses the mechanism: forced by IW_TRACKER, else the first that works.
#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

#include "track/mechanisms.h"

namespace iw::track {

namespace {

constexpr std::array<const char*, 4> names{"wp-async", "scan", "sigsegv", "compare"};
using Make = Status (*)(std::unique_ptr<Tracker>&);
constexpr std::array<Make, names.size()> makes{make_wp_async, make_scan, make_sigsegv,
                                               make_compare};

// Each mechanism is made and tested once, when first asked for, and never destroyed: areas may
// outlive the end of main.
struct Mechanism {
  std::once_flag once;
  std::unique_ptr<Tracker> tracker;
  Status status;
};

Mechanism& tried(std::size_t index) {
  static auto* mechanisms = new std::array<Mechanism, names.size()>;
  Mechanism& mechanism = (*mechanisms)[index];
  std::call_once(mechanism.once, [&mechanism, index] {
    mechanism.status = makes[index](mechanism.tracker);
    if (mechanism.status.ok()) mechanism.status = self_test(*mechanism.tracker);
    if (!mechanism.status.ok()) mechanism.tracker.reset();
  });
  return mechanism;
}

// Stands for a choice that cannot be had: every use says why.
class RefusingTracker final : public Tracker {
 public:
  explicit RefusingTracker(std::string why) : why_(std::move(why)) {}

  [[nodiscard]] const char* name() const override { return "none"; }
  [[nodiscard]] bool finds_pages() const override { return false; }
  std::unique_ptr<Area> create(std::size_t, void*, bool, int, Status& status, Placement) override {
    status = {EINVAL, why_.c_str()};
    return nullptr;
  }

 private:
  const std::string why_;
};

std::string choices() {
  std::string text;
  for (const char* name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

Tracker& choose() {
  const char* forced = std::getenv("IW_TRACKER");
  if (forced != nullptr && *forced != '\0') {
    Status status;
    if (Tracker* tracker = find_tracker(forced, status)) return *tracker;
    return *new RefusingTracker("IW_TRACKER=" + std::string(forced) + ": " + status.what + " (" +
                                platform::error_text(status.code) + "); the choices are " +
                                choices());
  }
  std::string why = "no way of write tracking works here:";
  for (std::size_t i = 0; i < names.size(); ++i) {
    Mechanism& mechanism = tried(i);
    if (mechanism.tracker != nullptr) return *mechanism.tracker;
    why += std::string(" ") + names[i] + ": " + mechanism.status.what + ";";
  }
  return *new RefusingTracker(why);
}

}  // namespace

Tracker& recommended() {
  static Tracker& chosen = choose();
  return chosen;
}

std::span<const char* const> tracker_names() { return names; }

Tracker* find_tracker(std::string_view name, Status& status) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (name != names[i]) continue;
    Mechanism& mechanism = tried(i);
    status = mechanism.status;
    return mechanism.tracker.get();
  }
  status = {EINVAL, "unknown write tracker"};
  return nullptr;
}

}  // namespace iw::track
