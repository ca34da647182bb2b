// What fork does to a process: only on POSIX systems.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "platform/memory.h"
#include "platform/process.h"

namespace iw::platform {
namespace {

TEST(Process, TheForkCountGrowsInChildrenOnly) {
  const unsigned before = fork_count();
  const pid_t child = fork();
  if (child == 0) _exit(fork_count() == before + 1 ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(fork_count(), before);
}

TEST(Memory, AMappingKeptFromChildrenIsNotUnmappedByThem) {
  FileDescriptor file;
  ASSERT_TRUE(create_shared_memory(page_size(), file).ok());
  MapRequest request;
  request.fd = file.get();
  request.size_bytes = page_size();
  Mapping shared;
  ASSERT_TRUE(map_file(request, shared).ok());
  ASSERT_TRUE(shared.keep_from_children().ok());
  constexpr int inherited = 77;
  const pid_t child = fork();
  if (child == 0) {
    std::byte* const at = shared.begin();
    Mapping other;  // the place is free in the child; what it puts there is its own
    const Status placed = reserve(page_size(), at, Placement::must, other);
    if (!placed.ok()) _exit(placed.code == EEXIST ? inherited : 1);
    if (!protect(at, page_size(), Protection::read_write).ok()) _exit(2);
    shared.release();
    *reinterpret_cast<volatile char*>(at) = 'x';
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  if (WEXITSTATUS(status) == inherited) GTEST_SKIP() << "emulators do not know MADV_DONTFORK";
  EXPECT_EQ(status, 0);
  EXPECT_EQ(shared.begin()[0], std::byte{0});
}

}  // namespace
}  // namespace iw::platform
