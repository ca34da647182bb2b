#include "fabric/shared_segment.h"

#include <sys/ipc.h>
#include <sys/shm.h>

namespace iw::fabric {
namespace {

std::byte* mapped(int id) {
  void* const at = shmat(id, nullptr, 0);
  return at == reinterpret_cast<void*>(-1) ? nullptr : static_cast<std::byte*>(at);
}

}  // namespace

std::unique_ptr<SharedSegment> SharedSegment::create(std::size_t bytes) {
  const int id = shmget(IPC_PRIVATE, bytes, IPC_CREAT | SHM_NORESERVE | 0600);
  if (id < 0) return nullptr;
  std::byte* const begin = mapped(id);
  // Marked at once: it goes with those who have it. Linux lets others have it all the same.
  shmctl(id, IPC_RMID, nullptr);
  if (begin == nullptr) return nullptr;
  return std::unique_ptr<SharedSegment>(new SharedSegment(id, begin));
}

// First mapped, then looked at: what is mapped cannot go away, nor its name become another's.
std::unique_ptr<SharedSegment> SharedSegment::attach(int id, std::size_t bytes) {
  std::byte* const begin = mapped(id);
  if (begin == nullptr) return nullptr;
  std::unique_ptr<SharedSegment> segment(new SharedSegment(id, begin));
  shmid_ds is{};
  if (shmctl(id, IPC_STAT, &is) != 0 || is.shm_segsz < bytes) return nullptr;
  return segment;
}

SharedSegment::~SharedSegment() { shmdt(begin_); }

}  // namespace iw::fabric
