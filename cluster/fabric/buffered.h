// An operation that has its buffer with it, because whoever started it may leave while the
// transport still uses the buffer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "fabric/fabric.h"

namespace iw::fabric {

// Its fields are read and written with the worker's lock held (Exclusion), but for those of one
// that was not started or is over.
struct Buffered : Completion {
  explicit Buffered(std::size_t bytes = 0)
      : memory(std::make_unique_for_overwrite<std::byte[]>(bytes)), buffer(memory.get(), bytes) {
    done = [](Completion& self, Status status) {
      auto& operation = static_cast<Buffered&>(self);
      operation.result = status;
      if (operation.is_abandoned) delete &operation;
    };
  }
  explicit Buffered(Bytes from) : Buffered(from.size()) {
    std::copy(from.begin(), from.end(), buffer.begin());
  }
  bool is_over() const { return result != Status::pending; }

  Status result = Status::pending;
  bool is_abandoned = false;  // it deletes itself when it is over
  std::unique_ptr<std::byte[]> memory;
  std::span<std::byte> buffer;
  std::uint64_t word = 0;  // that an atomic operation found
};

}  // namespace iw::fabric
