// The table of watched ranges. A handler must find a range without a lock: it reads an immutable
// sorted table through one atomic pointer. A thread that changes the table publishes a new one and
// waits until no handler can still be using the old one (two counters, flipped, as in sleepable
// RCU: a handler that starts meanwhile counts itself on the other side, so the wait ends).
#include "platform/fault.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <thread>
#include <utility>
#include <vector>

#include "platform/fault_handling.h"
#include "platform/mutex.h"
#include "platform/no_fork.h"

namespace iw::platform {

namespace {

struct WatchedRange {
  std::byte* begin;
  std::byte* end;
  FaultHandler handler;
  void* context;
};
using RangeTable = std::vector<WatchedRange>;  // sorted by begin, disjoint

std::atomic<RangeTable*> current_table{nullptr};
std::array<std::atomic<unsigned>, 2> handlers_inside{};
std::atomic<unsigned> side{0};

Mutex& change_mutex() {
  static auto* mutex = new Mutex;  // never destroyed: watches may end during exit
  return *mutex;
}
// Never freed. It has room for the current table's ranges, so that a watch can end without memory.
RangeTable* spare_table IW_GUARDED_BY(change_mutex()) = nullptr;

void wait_for_handlers_on(unsigned which) {
  while (handlers_inside[which].load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
}

// Twice, because a handler may have read `side` and not yet counted.
void wait_for_handlers() IW_REQUIRES(change_mutex()) {
  for (int i = 0; i < 2; ++i) {
    const unsigned old_side = side.load(std::memory_order_relaxed);
    side.store(old_side ^ 1, std::memory_order_seq_cst);
    wait_for_handlers_on(old_side);
  }
}

// The spare table takes the current one's place.
void exchange_tables() IW_REQUIRES(change_mutex()) {
  spare_table = current_table.exchange(spare_table, std::memory_order_seq_cst);
  wait_for_handlers();
}

}  // namespace

bool handle_watched_fault(std::byte* address, FaultAccess access) noexcept {
  const unsigned counted = side.load(std::memory_order_seq_cst);
  handlers_inside[counted].fetch_add(1, std::memory_order_seq_cst);
  bool handled = false;
  if (const RangeTable* table = current_table.load(std::memory_order_seq_cst)) {
    auto after =
        std::upper_bound(table->begin(), table->end(), address,
                         [](const std::byte* a, const WatchedRange& r) { return a < r.begin; });
    if (after != table->begin() && address < std::prev(after)->end) {
      const WatchedRange& range = *std::prev(after);
      handled = range.handler(range.context, address, access);
    }
  }
  handlers_inside[counted].fetch_sub(1, std::memory_order_seq_cst);
  return handled;
}

void forget_running_handlers() {
  for (auto& count : handlers_inside) count.store(0, std::memory_order_relaxed);
}

FaultWatch::FaultWatch(FaultWatch&& other) noexcept
    : begin_(std::exchange(other.begin_, nullptr)) {}

FaultWatch& FaultWatch::operator=(FaultWatch&& other) noexcept {
  if (this != &other) {
    stop();
    begin_ = std::exchange(other.begin_, nullptr);
  }
  return *this;
}

Status FaultWatch::start(std::byte* begin, std::size_t size_bytes, FaultHandler handler,
                         void* context, FaultWatch& out) {
  out.stop();
  const WatchedRange range{begin, begin + size_bytes, handler, context};
  const NoForkLock lock(change_mutex());
  if (Status bad = put_fault_handler_on_top(); !bad) return bad;
  if (current_table.load(std::memory_order_relaxed) == nullptr) current_table = new RangeTable;
  if (spare_table == nullptr) spare_table = new RangeTable;
  RangeTable& next = *spare_table;
  const RangeTable& table = *current_table.load(std::memory_order_relaxed);
  if (next.capacity() <= table.size()) next.reserve(2 * table.size() + 1);
  next = table;
  auto at = std::lower_bound(next.begin(), next.end(), begin,
                             [](const WatchedRange& r, const std::byte* b) { return r.begin < b; });
  if ((at != next.end() && at->begin < range.end) ||
      (at != next.begin() && std::prev(at)->end > begin)) {
    return {EEXIST, "another watch covers the range"};
  }
  next.insert(at, range);
  exchange_tables();
  out.begin_ = begin;
  return {};
}

void FaultWatch::stop() {
  if (begin_ == nullptr) return;
  const NoForkLock lock(change_mutex());
  spare_table->clear();
  for (const WatchedRange& range : *current_table.load(std::memory_order_relaxed)) {
    if (range.begin != begin_) spare_table->push_back(range);
  }
  exchange_tables();
  begin_ = nullptr;
}

Status keep_fault_handler_on_top() {
  if (current_table.load(std::memory_order_acquire) == nullptr) return {};
  const NoForkLock lock(change_mutex());
  return put_fault_handler_on_top();
}

}  // namespace iw::platform
