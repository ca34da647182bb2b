// The times at which very many objects are due: a heap, in which each object has one place at most.
// So the next object is found without a look at the others.
//
// Pure: no mutex, no clock. Runtime guards it. Only join() takes memory, so that put() cannot fail.
//
// agenda_test.cc compares it with a list.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace iw::client {

template <typename Owner>
class Agenda {
 public:
  static constexpr std::int64_t never_ns = std::numeric_limits<std::int64_t>::max();

  // The place of one object, which is part of it.
  class Entry {
   public:
    explicit Entry(Owner& owner) : owner_(owner) {}
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    // Any thread may ask. Never: the object is not on the agenda.
    [[nodiscard]] std::int64_t due_ns() const { return due_ns_.load(std::memory_order_relaxed); }

   private:
    friend class Agenda;
    Owner& owner_;
    std::atomic<std::int64_t> due_ns_{never_ns};
    std::size_t place_ = 0;
    bool is_member_ = false;
  };

  // Once. Throws std::bad_alloc: it has not joined.
  void join(Entry& entry) {
    const std::size_t wanted = members_ + 1;
    if (heap_.capacity() < wanted) heap_.reserve(std::max(wanted, 2 * heap_.capacity()));
    members_ = wanted;
    entry.is_member_ = true;
  }
  // Its entry ends.
  void leave(Entry& entry) noexcept {
    if (!entry.is_member_) return;
    if (entry.due_ns() != never_ns) remove(entry);
    entry.is_member_ = false;
    --members_;
  }
  // The object is due then, or earlier if an earlier time was put before. A due time of never has
  // no effect, nor has an object that has not joined.
  void put(Entry& entry, std::int64_t due_ns) noexcept {
    if (!entry.is_member_ || due_ns >= entry.due_ns()) return;
    if (entry.due_ns() == never_ns) {
      entry.place_ = heap_.size();
      heap_.push_back(&entry);
    }
    entry.due_ns_.store(due_ns, std::memory_order_relaxed);
    rise(entry);
  }
  // Takes the first object that is due by then off the agenda. Null: no object is due.
  Owner* take(std::int64_t now_ns) noexcept {
    if (next_due_ns() > now_ns || heap_.empty()) return nullptr;
    Entry& first = *heap_.front();
    remove(first);
    return &first.owner_;
  }
  [[nodiscard]] std::int64_t next_due_ns() const noexcept {
    return heap_.empty() ? never_ns : heap_.front()->due_ns();
  }

 private:
  void set(std::size_t place, Entry& entry) noexcept {
    heap_[place] = &entry;
    entry.place_ = place;
  }
  void rise(Entry& entry) noexcept {
    std::size_t place = entry.place_;
    while (place > 0) {
      const std::size_t above = (place - 1) / 2;
      if (heap_[above]->due_ns() <= entry.due_ns()) break;
      set(place, *heap_[above]);
      place = above;
    }
    set(place, entry);
  }
  void sink(Entry& entry) noexcept {
    std::size_t place = entry.place_;
    while (true) {
      std::size_t below = 2 * place + 1;
      if (below >= heap_.size()) break;
      const bool has_second = below + 1 < heap_.size();
      if (has_second && heap_[below + 1]->due_ns() < heap_[below]->due_ns()) ++below;
      if (entry.due_ns() <= heap_[below]->due_ns()) break;
      set(place, *heap_[below]);
      place = below;
    }
    set(place, entry);
  }
  void remove(Entry& entry) noexcept {
    Entry& last = *heap_.back();
    heap_.pop_back();
    if (&last != &entry) {
      set(entry.place_, last);
      rise(last);
      sink(last);
    }
    entry.due_ns_.store(never_ns, std::memory_order_relaxed);
  }

  std::vector<Entry*> heap_;  // no entry is due before the one above it
  std::size_t members_ = 0;
};

}  // namespace iw::client
