// Memory for many bytes that arrive one after the other and are used once. It lies in large pages
// where the system has them, because each small page costs a fault of its own.
#pragma once

#include <cstddef>
#include <utility>

namespace iw::platform {

class LargeMemory {
 public:
  LargeMemory() = default;
  LargeMemory(LargeMemory&& other) noexcept { swap(other); }
  LargeMemory& operator=(LargeMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~LargeMemory();

  [[nodiscard]] std::byte* begin() const { return begin_; }
  [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }
  explicit operator bool() const { return begin_ != nullptr; }

  // Grows to at least so many bytes, and keeps the bytes that are there. Pages take memory when
  // they are first touched. False: there is no memory, and nothing has changed.
  [[nodiscard]] bool grow(std::size_t size_bytes);

  // Gives the large pages that lie whole between the two offsets back to the system. Their bytes
  // are lost, and must not be read. Does nothing where the system cannot do it.
  void give_back(std::size_t begin_offset, std::size_t end_offset);

 private:
  void swap(LargeMemory& other) noexcept {
    std::swap(begin_, other.begin_);
    std::swap(size_bytes_, other.size_bytes_);
  }

  std::byte* begin_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace iw::platform
