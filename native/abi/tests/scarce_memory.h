// Memory that ends: allocations of this process that fail when a test says so. What the library
// allocates is meant: operator new in all its forms, and malloc, calloc and realloc where the
// library itself calls them.
#pragma once

#include <cstddef>

namespace iw::test {

enum class Whose { callers, library };  // the thread of the test; all others
enum class Failing { once, now_and_then, from_then_on };

// From its making to its end (or stop()) the n-th allocation fails, n from 1; with it each seventh
// behind it, or all.
class Scarcity {
 public:
  Scarcity(Whose whose, Failing failing, long n);
  ~Scarcity() { (void)stop(); }
  Scarcity(const Scarcity&) = delete;
  Scarcity& operator=(const Scarcity&) = delete;

  // How many allocations are left before the n-th.
  [[nodiscard]] static long left();
  // Memory is back. Whether an allocation failed.
  bool stop();
};

// The address space that the process has now, and so many bytes more, are all that it may have.
class NarrowAddressSpace {
 public:
  explicit NarrowAddressSpace(std::size_t more_bytes);
  ~NarrowAddressSpace();
  NarrowAddressSpace(const NarrowAddressSpace&) = delete;
  NarrowAddressSpace& operator=(const NarrowAddressSpace&) = delete;

 private:
  unsigned long long before_;
};

}  // namespace iw::test
