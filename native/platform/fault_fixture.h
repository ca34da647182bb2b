// Memory that opens itself, for tests.
#pragma once

#include <gtest/gtest.h>

#include <atomic>

#include "platform/fault.h"
#include "platform/memory.h"

namespace iw::platform {

// Opens its page and counts.
struct Opener {
  Mapping memory;
  FaultWatch watch;
  std::atomic<int> faults{0};
  std::atomic<FaultAccess> last{FaultAccess::unknown};

  explicit Opener(std::size_t pages) {
    EXPECT_TRUE(reserve(pages * page_size(), nullptr, Placement::if_free, memory).ok());
    EXPECT_TRUE(
        FaultWatch::start(memory.begin(), memory.size_bytes(), &Opener::open, this, watch).ok());
  }
  static bool open(void* context, std::byte* address, FaultAccess access) noexcept {
    auto* self = static_cast<Opener*>(context);
    ++self->faults;
    self->last = access;
    const auto offset = static_cast<std::size_t>(address - self->memory.begin());
    return protect(self->memory.begin() + offset / page_size() * page_size(), page_size(),
                   Protection::read_write)
        .ok();
  }
  volatile char& at(std::size_t page) {
    return *reinterpret_cast<volatile char*>(memory.begin() + page * page_size());
  }
};

}  // namespace iw::platform
