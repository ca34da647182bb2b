// The map in a forked child: only on POSIX systems.
#include <sys/wait.h>
#include <unistd.h>

#include "memory/address_map.h"
#include "memory/heap_fixture.h"

namespace iw::memory {
namespace {

TEST(AddressMap, AChildOfForkFindsNothingOfItsParentAndMayMakeHeaps) {
  auto heap = new_heap();
  const auto blocks = filled(*heap, 10);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    FoundBlock found;
    Block block;
    int failures = find_block(blocks[0].address, found) ? 1 : 0;
    failures |= heap->find(1, block) ? 2 : 0;
    failures |= heap->reserve(99, int_type(), 1, "", block).code == error_code::FORKED ? 0 : 4;
    failures |= begin_write(*heap).code == error_code::FORKED ? 0 : 8;
    failures |= heap->apply_done().code == error_code::FORKED ? 0 : 16;
    auto own = new_heap("127.0.0.1/child");
    const auto in_own = filled(*own, 10);
    failures |= find_block(in_own[3].address, found) && found.block.serial == 4 ? 0 : 32;
    heap.reset();
    own.reset();
    _exit(failures);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  FoundBlock found;
  EXPECT_TRUE(find_block(blocks[0].address, found));
}

}  // namespace
}  // namespace iw::memory
