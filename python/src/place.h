// The place of a value: an address in a block of a segment. Each access checks that the thread
// holds a lock and that the block still exists. A program may therefore keep a Python object for
// any time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "failure.h"
#include "segment.h"

namespace iwpy {

// Memory for numpy's arrays (the buffer protocol). The memory is pinned: an array that outlives its
// lock, its block or its segment shows old contents, but never faults. The memory is writable until
// the writer section ends in which it was asked for.
class Memory {
 public:
  Memory(const State* state, std::byte* address, std::size_t bytes, bool writable);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void end_writing() { writable_ = false; }
  [[nodiscard]] std::byte* address() const { return address_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] bool is_writable() const { return writable_; }

 private:
  std::byte* address_;
  std::size_t bytes_;
  bool writable_;
  IW_pin_t pin_ = nullptr;
};

class Place {
 public:
  // `epoch`: the epoch in which the place is known to be good; 0: not known.
  Place(const State* state, std::byte* address, std::uint64_t serial, std::uint64_t epoch)
      : state_(state), address_(address), serial_(serial), epoch_(epoch) {}

  // Thrown: NO_LOCK, NO_BLOCK.
  void check();
  void check_writable();
  [[nodiscard]] Place at(std::size_t offset) const;
  [[nodiscard]] std::uintptr_t address() const {
    return reinterpret_cast<std::uintptr_t>(address_);
  }
  [[nodiscard]] std::uint64_t serial() const { return serial_; }

  nb::object load(std::size_t offset, int primitive);
  void store(std::size_t offset, int primitive, nb::handle value);
  // Returns the characters before the first NUL, at most `bytes`.
  nb::bytes load_string(std::size_t offset, std::size_t bytes);
  // Stores the text and fills the rest of `bytes` with zeros.
  void store_string(std::size_t offset, std::size_t bytes, const nb::bytes& text);
  void clear(std::size_t offset, std::size_t bytes);
  std::uintptr_t load_pointer(std::size_t offset);
  void store_pointer(std::size_t offset, std::uintptr_t to);
  // Returns the number of a sequence's elements and the address of the first.
  nb::tuple load_sequence(std::size_t offset);
  // Returns the bytes of a text before the NUL.
  nb::bytes load_text(std::size_t offset);
  void assign(std::size_t offset, nb::handle values, std::size_t count);
  [[nodiscard]] nb::object memory(std::size_t offset, std::size_t bytes);

 private:
  const State* state_;
  std::byte* address_;
  std::uint64_t serial_;
  std::uint64_t epoch_;  // in which the place was found to be good
};

void bind_place(nb::module_& module);

}  // namespace iwpy
