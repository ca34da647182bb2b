// Chooses the mechanism: forced by IW_TRACKER, else the first that works.
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "platform/mutex.h"
#include "platform/no_fork.h"
#include "platform/process.h"
#include "track/mechanisms.h"

namespace iw::track {

namespace {

constexpr std::array<const char*, 4> names{"wp-async", "scan", "sigsegv", "compare"};
using Make = Status (*)(std::unique_ptr<Tracker>&);
constexpr std::array<Make, names.size()> makes{make_wp_async, make_scan, make_sigsegv,
                                               make_compare};

constexpr const char* missing_why = "finding out how stores can be tracked";

std::atomic<Tracker*> chosen{nullptr};

struct Tried {
  Tracker* tracker = nullptr;  // null: it does not work here
  Status status;
};

// Each mechanism is made and tested once, when first asked for, and never destroyed: areas may
// outlive the end of main. Where descriptors or memory were missing for it, nothing is known yet.
Tried tried(std::size_t index) {
  struct Mechanism {
    platform::Mutex mutex;
    bool is_known IW_GUARDED_BY(mutex) = false;
    std::unique_ptr<Tracker> tracker IW_GUARDED_BY(mutex);
    Status status IW_GUARDED_BY(mutex);
  };
  const platform::NoFork no_fork;
  static auto* mechanisms = new std::array<Mechanism, names.size()>;
  Mechanism& mechanism = (*mechanisms)[index];
  const platform::MutexLock lock(mechanism.mutex);
  if (!mechanism.is_known) {
    mechanism.status = makes[index](mechanism.tracker);
    if (mechanism.status.ok()) mechanism.status = self_test(*mechanism.tracker);
    if (!mechanism.status.ok()) mechanism.tracker.reset();
    mechanism.is_known = !platform::is_shortage(mechanism.status.code);
  }
  return {mechanism.tracker.get(), mechanism.status};
}

// Stands for a choice that cannot be had: every use says why.
class RefusingTracker final : public Tracker {
 public:
  RefusingTracker(int code, std::string why) : code_(code), why_(std::move(why)) {}

  [[nodiscard]] const char* name() const override { return "none"; }
  [[nodiscard]] bool finds_pages() const override { return false; }
  std::unique_ptr<Area> create(std::size_t, void*, bool, int, Status& status, Placement) override {
    status = {code_, why_.c_str()};
    return nullptr;
  }
  Status measure_prices(Clock) override { return {}; }
  [[nodiscard]] Prices prices() const override { return {}; }

 private:
  const int code_;
  const std::string why_;
};

// Until it is known what works.
Tracker& refusing_for(const Status& missing) {
  static auto* no_descriptor = new RefusingTracker(EMFILE, missing_why);
  static auto* no_descriptor_anywhere = new RefusingTracker(ENFILE, missing_why);
  static auto* no_memory = new RefusingTracker(ENOMEM, missing_why);
  if (missing.code == EMFILE) return *no_descriptor;
  return missing.code == ENFILE ? *no_descriptor_anywhere : *no_memory;
}

std::string choices() {
  std::string text;
  for (const char* name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

Status choose_forced(const char* name, Tracker*& out) {
  Status status;
  out = find_tracker(name, status);
  if (out != nullptr) return {};
  if (platform::is_shortage(status.code)) return {status.code, missing_why};
  out = new RefusingTracker(EINVAL, "IW_TRACKER=" + std::string(name) + ": " + status.what + " (" +
                                        platform::error_text(status.code) + "); the choices are " +
                                        choices());
  return {};
}

// What is chosen stays. So a mechanism that could not be tried is not passed over for a slower one.
Status choose(Tracker*& out) {
  const char* forced = std::getenv("IW_TRACKER");
  if (forced != nullptr && *forced != '\0') return choose_forced(forced, out);
  std::string why = "no way of write tracking works here:";
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Tried one = tried(i);
    out = one.tracker;
    if (out != nullptr) return {};
    if (platform::is_shortage(one.status.code)) return {one.status.code, missing_why};
    why += std::string(" ") + names[i] + ": " + one.status.what + ";";
  }
  out = new RefusingTracker(EINVAL, why);
  return {};
}

}  // namespace

Status choose_recommended() {
  if (chosen.load(std::memory_order_acquire) != nullptr) return {};
  static platform::Mutex choosing;
  const platform::NoForkLock lock(choosing);
  if (chosen.load(std::memory_order_acquire) != nullptr) return {};
  Tracker* choice = nullptr;
  if (Status missing = choose(choice); !missing) return missing;
  chosen.store(choice, std::memory_order_release);
  return {};
}

Tracker& recommended() {
  if (Status missing = choose_recommended(); !missing) return refusing_for(missing);
  return *chosen.load(std::memory_order_acquire);
}

// Nobody waits for the one who measures: a child that was forked meanwhile would wait for ever.
Status measure_recommended(Clock clock) {
  static std::atomic<bool> is_measured{false};
  static std::atomic<unsigned> whose_turn{0};  // 0, or 1 + the fork count of who measures
  if (is_measured.load(std::memory_order_acquire)) return {};
  if (Status missing = choose_recommended(); !missing) return missing;
  const unsigned mine = 1 + platform::fork_count();
  unsigned before = whose_turn.load();
  if (before == mine || !whose_turn.compare_exchange_strong(before, mine)) return {};
  Status status;
  try {
    status = recommended().measure_prices(clock);
  } catch (const std::bad_alloc&) {
    status = {ENOMEM, "measuring what it costs to track stores"};
  }
  if (status.ok()) is_measured.store(true, std::memory_order_release);
  whose_turn.store(0);
  return status;
}

std::span<const char* const> tracker_names() { return names; }

Tracker* find_tracker(std::string_view name, Status& status) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (name != names[i]) continue;
    const Tried one = tried(i);
    status = one.status;
    return one.tracker;
  }
  status = {EINVAL, "unknown write tracker"};
  return nullptr;
}

}  // namespace iw::track
