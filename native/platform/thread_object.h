// One object for each thread, made when the thread first asks for it. It is destroyed when the
// thread ends; for the thread that ends the process, when the process ends. The destructor may
// still ask for the object.
//
// Not a thread_local object with a destructor, for two reasons. The C library ends the process if
// it has no memory to register the destructor. On Windows, GCC frees such objects before it calls
// their destructors.
#pragma once

#include <memory>

namespace iw::platform {

#if defined(_WIN32)
inline constexpr bool remembers_thread_objects = false;
#else
inline constexpr bool remembers_thread_objects = true;
#endif

class ThreadSlot {
 public:
  using Destroy = void (*)(void* object);
  explicit ThreadSlot(Destroy destroy);
  [[nodiscard]] void* get() const;
  // Throws std::bad_alloc.
  void set(void* object) const;
  // By the thread that ends the process.
  void process_ends() const;

 private:
  const Destroy destroy_;
  const unsigned long index_;
  friend struct ThreadEntry;
};

// What is found without asking the slot; null on Windows, see above.
template <typename T>
T*& remembered_object() {
  thread_local constinit T* mine = nullptr;
  return mine;
}

template <typename T>
const ThreadSlot& slot_of_threads() {
  static const ThreadSlot& slot = *new ThreadSlot([](void* object) {
    delete static_cast<T*>(object);
    if constexpr (remembers_thread_objects) remembered_object<T>() = nullptr;
  });
  struct EndOfProcess {
    ~EndOfProcess() { slot.process_ends(); }
  };
  static const EndOfProcess end_of_process;
  return slot;
}

// Null: the thread has none yet.
template <typename T>
T* existing_object_of_this_thread() {
  if constexpr (remembers_thread_objects) return remembered_object<T>();
  return static_cast<T*>(slot_of_threads<T>().get());
}

// Throws std::bad_alloc.
template <typename T>
T& object_of_this_thread() {
  if (T* const mine = existing_object_of_this_thread<T>(); mine != nullptr) return *mine;
  auto made = std::make_unique<T>();
  slot_of_threads<T>().set(made.get());
  if constexpr (remembers_thread_objects) remembered_object<T>() = made.get();
  return *made.release();
}

}  // namespace iw::platform
