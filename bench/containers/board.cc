#include "containers/board.h"

#include <sys/mman.h>
#include <unistd.h>

#include "containers/measures.h"

namespace bench {

using Clock = std::chrono::steady_clock;

Board::Board() : Board(memfd_create("board", 0)) {}

Board::Board(int fd) : fd_(fd) {
  if (ftruncate(fd, sizeof(Notes)) != 0) fail("ftruncate");
  void* memory = mmap(nullptr, sizeof(Notes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) fail("mmap");
  notes_ = static_cast<Notes*>(memory);  // atomics of zeros are what the memory is
}

Board::~Board() {
  munmap(notes_, sizeof(Notes));
  close(fd_);
}

void Board::clear() {
  for (Note& each : *notes_) each.count = 0;
}

void Board::note(int receiver) {
  Note& note = notes_->at(static_cast<std::size_t>(receiver));
  note.when.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  note.count.fetch_add(1, std::memory_order_release);
}

void Board::wait(int receivers, std::int64_t count) const {
  for (int i = 0; i < receivers; i++) {
    const Note& note = notes_->at(static_cast<std::size_t>(i));
    while (note.count.load(std::memory_order_acquire) < count) continue;
  }
}

Clock::time_point Board::noted(int receiver) const {
  const Note& note = notes_->at(static_cast<std::size_t>(receiver));
  return Clock::time_point(Clock::duration(note.when.load(std::memory_order_relaxed)));
}

}  // namespace bench
