// Mutexes that clang's thread-safety analysis follows (make/thread_safety.sh compiles native and
// cluster with it; other compilers see std::mutex under another name). A member says which mutex
// guards it, a function says which mutex its caller holds, and a breach is an error.
//
// The analysis cannot follow everything. A function that is reached through a callback says
// assert_held(). Where one function locks a mutex and another unlocks it, there stands
// IW_NO_THREAD_SAFETY_ANALYSIS with its reason. Constructors and destructors are not analysed,
// because they have their object to themselves.
//
// Nothing here costs more than what it wraps: all is inline, and of the same size.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#if defined(__clang__)
#define IW_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define IW_THREAD_SAFETY(attribute)
#endif

// A type: a lock, and what holds one until the end of a scope.
#define IW_CAPABILITY(name) IW_THREAD_SAFETY(capability(name))
#define IW_SCOPED_CAPABILITY IW_THREAD_SAFETY(scoped_lockable)
// A variable: read and written with the mutex held; or what it points to.
#define IW_GUARDED_BY(mutex) IW_THREAD_SAFETY(guarded_by(mutex))
#define IW_POINTEE_GUARDED_BY(mutex) IW_THREAD_SAFETY(pt_guarded_by(mutex))
// A function: its caller holds the mutex, before and afterwards; or must not hold it.
#define IW_REQUIRES(...) IW_THREAD_SAFETY(requires_capability(__VA_ARGS__))
#define IW_REQUIRES_SHARED(...) IW_THREAD_SAFETY(requires_shared_capability(__VA_ARGS__))
#define IW_EXCLUDES(...) IW_THREAD_SAFETY(locks_excluded(__VA_ARGS__))
// A function that takes it or gives it back.
#define IW_ACQUIRE(...) IW_THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define IW_ACQUIRE_SHARED(...) IW_THREAD_SAFETY(acquire_shared_capability(__VA_ARGS__))
#define IW_TRY_ACQUIRE(...) IW_THREAD_SAFETY(try_acquire_capability(__VA_ARGS__))
#define IW_RELEASE(...) IW_THREAD_SAFETY(release_capability(__VA_ARGS__))
#define IW_RELEASE_SHARED(...) IW_THREAD_SAFETY(release_shared_capability(__VA_ARGS__))
// A function that says that it is held.
#define IW_ASSERT_CAPABILITY(...) IW_THREAD_SAFETY(assert_capability(__VA_ARGS__))
// A function that is not analysed. Its reason stands beside it.
#define IW_NO_THREAD_SAFETY_ANALYSIS IW_THREAD_SAFETY(no_thread_safety_analysis)

namespace iw::platform {

class IW_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() IW_ACQUIRE() { mutex_.lock(); }
  void unlock() IW_RELEASE() { mutex_.unlock(); }
  [[nodiscard]] bool try_lock() IW_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  // For the analysis: the caller knows that its thread holds it. Checks nothing.
  void assert_held() const IW_ASSERT_CAPABILITY(this) {}
  // For interfaces that give out the standard's mutex.
  std::mutex& native() { return mutex_; }

 private:
  friend class Condition;
  std::mutex mutex_;
};

// Holds the mutex until the end of the scope.
class IW_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) IW_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  // Of one that the thread holds already.
  MutexLock(Mutex& mutex, std::adopt_lock_t) IW_REQUIRES(mutex) : mutex_(mutex) {}
  ~MutexLock() IW_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Gives the mutex up, which the thread holds, until the end of the scope.
class IW_SCOPED_CAPABILITY MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) IW_RELEASE(mutex) : mutex_(mutex) { mutex_.unlock(); }
  ~MutexUnlock() IW_RELEASE() { mutex_.lock(); }  // so the analysis spells the end of a scope
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  Mutex& mutex_;
};

// A condition that is waited for with a Mutex held. Waits may end early. The waiting thread
// looks at what the mutex guards in a loop. A function object would hide it from the analysis.
class Condition {
 public:
  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }

  void wait(Mutex& mutex) IW_REQUIRES(mutex) {
    std::unique_lock held(mutex.mutex_, std::adopt_lock);
    condition_.wait(held);
    held.release();
  }
  // False: the time is over.
  template <typename Clock, typename Duration>
  bool wait_until(Mutex& mutex, const std::chrono::time_point<Clock, Duration>& deadline)
      IW_REQUIRES(mutex) {
    std::unique_lock held(mutex.mutex_, std::adopt_lock);
    const std::cv_status status = condition_.wait_until(held, deadline);
    held.release();
    return status == std::cv_status::no_timeout;
  }
  template <typename Rep, typename Period>
  bool wait_for(Mutex& mutex, const std::chrono::duration<Rep, Period>& time) IW_REQUIRES(mutex) {
    std::unique_lock held(mutex.mutex_, std::adopt_lock);
    const std::cv_status status = condition_.wait_for(held, time);
    held.release();
    return status == std::cv_status::no_timeout;
  }

 private:
  std::condition_variable condition_;
};

// Held by many readers, or by one writer.
class IW_CAPABILITY("shared mutex") SharedMutex {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  void lock() IW_ACQUIRE() { mutex_.lock(); }
  void unlock() IW_RELEASE() { mutex_.unlock(); }
  void lock_shared() IW_ACQUIRE_SHARED() { mutex_.lock_shared(); }
  void unlock_shared() IW_RELEASE_SHARED() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

class IW_SCOPED_CAPABILITY WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) IW_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~WriterLock() IW_RELEASE() { mutex_.unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  SharedMutex& mutex_;
};

class IW_SCOPED_CAPABILITY ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) IW_ACQUIRE_SHARED(mutex) : mutex_(mutex) {
    mutex_.lock_shared();
  }
  ~ReaderLock() IW_RELEASE() { mutex_.unlock_shared(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  SharedMutex& mutex_;
};

}  // namespace iw::platform
