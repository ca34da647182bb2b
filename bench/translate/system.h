// A system that translates an array into bytes to send and back, for one shape.
#pragma once

#include <chrono>
#include <cstring>
#include <memory>
#include <vector>

#include "translate/source.h"

namespace bench {

class System {
 public:
  virtual ~System() = default;

  // One translation of the whole array: its time in us. The values of the two sources take turns.
  virtual double collect_us() = 0;
  // One translation of what was collected last, into memory of the program.
  virtual double apply_us() = 0;
  // Ends the program unless what was applied last is what was collected last.
  virtual void check() = 0;
  // Further costs of the last collect_us: page faults of the stores before it, and the renewal of
  // the pristine copy after it.
  [[nodiscard]] virtual double page_faults_us() const { return 0; }
  [[nodiscard]] virtual double commit_us() const { return 0; }
};

// The values of both turns, and whose turn it is.
struct Sources {
  explicit Sources(Shape shape) : values{Source(shape, Turn::one), Source(shape, Turn::other)} {}
  const Source& next() {
    turn = 1 - turn;
    return values[turn];
  }
  [[nodiscard]] const Source& now() const { return values[turn]; }
  Source values[2];
  int turn = 0;
};

// Where a rival decodes to: an array of the source's layout, and as many ints for its pointers.
class Decoded {
 public:
  explicit Decoded(Shape shape)
      : array_(element_count(shape) * element_bytes(shape) / 8), pointees_(pointee_count(shape)) {}
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(array_.data());
  }
  int* pointees() { return pointees_.data(); }
  void check(const char* system, const Source& sent) {
    sent.expect_equal(system, as<std::byte>(), sent.pointees().empty() ? nullptr : pointees());
  }

 private:
  std::vector<std::uint64_t> array_;
  std::vector<int> pointees_;
};

// A string into char[size], the rest zeros.
template <std::size_t size>
void store_text(char (&to)[size], const char* from, std::size_t length) {
  if (length >= size) length = size - 1;
  std::memcpy(to, from, length);
  std::memset(to + length, 0, size - length);
}

template <typename F>
double time_us(F&& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  const auto end = std::chrono::steady_clock::now();
  return std::chrono::duration<double, std::micro>(end - begin).count();
}

// Whole blocks are sent without comparing (no-diff mode), or what was stored to is found first.
std::unique_ptr<System> interweave_block(Shape shape);
std::unique_ptr<System> interweave_diff(Shape shape);
std::unique_ptr<System> rpcgen(Shape shape);
std::unique_ptr<System> flatbuffers(Shape shape);
std::unique_ptr<System> capnproto(Shape shape);
std::unique_ptr<System> protobuf(Shape shape);
// The limit: the same number of bytes copied, and nothing translated.
std::unique_ptr<System> copied(Shape shape);

}  // namespace bench
