// One object for each thread, made when the thread first asks for it and destroyed when the thread
// ends; the destructor may still ask for it. (On Windows GCC frees the memory of thread_local
// objects before it calls their destructors.)
#pragma once

namespace iw::platform {

#if defined(_WIN32)

class ThreadSlot {
 public:
  using Destroy = void (*)(void* object);
  explicit ThreadSlot(Destroy destroy);
  [[nodiscard]] void* get() const;
  void set(void* object) const;

 private:
  const Destroy destroy_;
  const unsigned long index_;
  friend struct ThreadEntry;
};

template <typename T>
T& object_of_this_thread() {
  static const ThreadSlot& slot =
      *new ThreadSlot([](void* object) { delete static_cast<T*>(object); });
  void* mine = slot.get();
  if (mine == nullptr) slot.set(mine = new T);
  return *static_cast<T*>(mine);
}

#else

template <typename T>
T& object_of_this_thread() {
  thread_local T mine;
  return mine;
}

#endif

}  // namespace iw::platform
