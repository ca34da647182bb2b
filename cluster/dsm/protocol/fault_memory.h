// Memory for what the protocol keeps of pages, and for the messages about the page that faults. It
// is taken from the system in slabs and not from malloc, because pages fault while any instruction
// of the program runs: one that malloc or its rival runs, too. The thread that faults handles other
// messages while it waits. These, and the transport, may take memory from malloc. Thread-safe; the
// lock is a leaf.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

namespace iw::dsm {

// The memory is cut into pieces of powers of two. A table that grows by chunks fills such a piece.
inline constexpr std::size_t fault_chunk_bytes = 32 << 10;

// Aligned for any type. Never nullptr: without memory the process ends with status 3 and a message.
void* take_fault_memory(std::size_t bytes);
// The size that was asked for.
void give_fault_memory_back(void* memory, std::size_t bytes);

template <typename T>
struct FaultAllocator {
  using value_type = T;
  FaultAllocator() = default;
  template <typename Other>
  FaultAllocator(const FaultAllocator<Other>&) {}
  T* allocate(std::size_t count) { return static_cast<T*>(take_fault_memory(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t count) {
    give_fault_memory_back(memory, count * sizeof(T));
  }
  friend bool operator==(const FaultAllocator&, const FaultAllocator&) { return true; }
};

template <typename T>
using FaultVector = std::vector<T, FaultAllocator<T>>;
template <typename T>
using FaultDeque = std::deque<T, FaultAllocator<T>>;
template <typename Key, typename Value>
using FaultMap = std::unordered_map<Key, Value, std::hash<Key>, std::equal_to<Key>,
                                    FaultAllocator<std::pair<const Key, Value>>>;

template <typename T>
struct FaultDelete {
  void operator()(T* object) const {
    object->~T();
    give_fault_memory_back(object, sizeof(T));
  }
};
template <typename T>
using FaultPointer = std::unique_ptr<T, FaultDelete<T>>;
template <typename T>
FaultPointer<T> make_for_faults() {
  return FaultPointer<T>(new (take_fault_memory(sizeof(T))) T());
}

}  // namespace iw::dsm
