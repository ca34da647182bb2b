// dsm.hpp -- C++ over <interweave/dsm.h>: locks that release themselves, typed memory, failures as
// exceptions. Header only, C++20. <interweave/dsm.h> says what holds of threads, of the memory
// model, of the calls before the first barrier, and what each call costs in messages.
//
//   iw::shared::Job job;
//   std::span<double> row = iw::shared::allocate<double>(1024);    // zeroes
//   iw::shared::barrier(1);
//   {
//     iw::shared::Hold hold(7);                                    // the lock with the number 7
//     row[0] += 1;
//   }
//   double sum = iw::shared::sum(own);
//   job.finish();
#pragma once

#include <interweave/dsm.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace iw::shared {

// A call that failed: what() is dsm_strerror's text.
class Error : public std::runtime_error {
 public:
  explicit Error(int code) : std::runtime_error(dsm_strerror(code)), code_(code) {}
  int code() const { return code_; }  // DSM_E...

 private:
  int code_;
};

// The result of a call of the C interface, if it did not fail.
inline int checked(int result) {
  if (result < 0) throw Error(result);
  return result;
}

inline int rank() { return checked(dsm_rank()); }
inline int size() { return checked(dsm_size()); }
inline void barrier(std::uint64_t number) { checked(dsm_barrier(number)); }

// This process's part in the job. finish() waits for all ranks. The destructor finishes, too, but
// not while an exception leaves: the other ranks hear then that this one ended.
class Job {
 public:
  Job() { checked(dsm_init(nullptr)); }
  explicit Job(const dsm_options& options) { checked(dsm_init(&options)); }
  ~Job() {
    if (!is_finished_ && std::uncaught_exceptions() == exceptions_) dsm_finish();
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  void finish() {
    is_finished_ = true;
    checked(dsm_finish());
  }

 private:
  const int exceptions_ = std::uncaught_exceptions();
  bool is_finished_ = false;
};

// Holds a lock until the end of the scope.
class Hold {
 public:
  explicit Hold(std::uint64_t lock) : lock_(lock) { checked(dsm_lock(lock)); }
  // A lock whose number is the object's address.
  template <typename T>
  explicit Hold(const T* object)
      : Hold(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(object))) {}
  // If the job is over there is nothing to release.
  ~Hold() { dsm_unlock(lock_); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  std::uint64_t lock() const { return lock_; }

  // Releases the lock, sleeps until a signal, and has the lock again, until `is_so`.
  template <std::predicate Condition>
  void wait(std::uint64_t condition, Condition is_so) {
    while (!is_so()) checked(dsm_cond_wait(condition, lock_));
  }

 private:
  const std::uint64_t lock_;
};

inline void signal(std::uint64_t condition) { checked(dsm_cond_signal(condition)); }
inline void broadcast_signal(std::uint64_t condition) { checked(dsm_cond_broadcast(condition)); }
inline void post(std::uint64_t semaphore) { checked(dsm_sem_post(semaphore)); }
inline void wait_for_post(std::uint64_t semaphore) { checked(dsm_sem_wait(semaphore)); }

// The value before.
inline std::int64_t fetch_add(std::uint64_t counter, std::int64_t add) {
  std::int64_t before = 0;
  checked(dsm_fetch_add(counter, add, &before));
  return before;
}

// Types whose objects other processes may use: no virtual functions, nothing that owns memory
// outside of the heap.
template <typename T>
concept Shareable = std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T> &&
                    alignof(T) <= 16;

// Zeroes, where no block was freed before. Throws Error with DSM_EMEMORY.
template <Shareable T>
std::span<T> allocate(std::size_t count) {
  if (count > static_cast<std::size_t>(-1) / sizeof(T)) throw Error(DSM_EMEMORY);
  void* const block = dsm_malloc(count * sizeof(T));
  if (block == nullptr) throw Error(dsm_errno());
  return {static_cast<T*>(block), count};
}

// One object of that value. Before the first barrier rank 0's value counts.
template <Shareable T, typename... Arguments>
T* make(Arguments&&... arguments) {
  return std::construct_at(allocate<T>(1).data(), std::forward<Arguments>(arguments)...);
}

template <Shareable T>
void free(std::span<T> block) {
  dsm_free(block.data());
}
template <Shareable T>
void free(T* block) {
  dsm_free(block);
}

template <typename T>
void place(std::span<T> block, dsm_placement placement, int rank = 0) {
  checked(dsm_home(block.data(), block.size_bytes(), placement, rank));
}
template <typename T>
void touch(std::span<T> block, bool will_store = !std::is_const_v<T>) {
  checked(dsm_touch(block.data(), block.size_bytes(), will_store ? 1 : 0));
}

template <typename T>
concept Reducible = std::same_as<T, std::int64_t> || std::same_as<T, double>;

// The values of all ranks, combined in place, in the order of the ranks. Collective.
template <Reducible T>
void reduce(dsm_reduction reduction, std::span<T> values) {
  constexpr dsm_type type = std::same_as<T, double> ? DSM_DOUBLE : DSM_INT64;
  checked(dsm_reduce(reduction, type, values.data(), values.data(), values.size()));
}
template <Reducible T>
T reduce(dsm_reduction reduction, T value) {
  reduce(reduction, std::span(&value, 1));
  return value;
}
template <Reducible T>
T sum(T value) {
  return reduce(DSM_SUM, value);
}
template <Reducible T>
T minimum(T value) {
  return reduce(DSM_MIN, value);
}
template <Reducible T>
T maximum(T value) {
  return reduce(DSM_MAX, value);
}

// All ranks get the value of rank `from`. Collective.
template <typename T>
requires std::is_trivially_copyable_v<T> T broadcast(T value, int from = 0) {
  checked(dsm_broadcast(&value, sizeof value, from));
  return value;
}

inline dsm_statistics statistics(bool reset = false) {
  dsm_statistics all;
  checked(dsm_stats(&all, reset ? 1 : 0));
  return all;
}

}  // namespace iw::shared
