#include "platform/memory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace iw::platform {
namespace {

TEST(Memory, ReservationsCostNoMemoryAndTakeTheWantedAddress) {
  const std::size_t size_bytes = std::size_t{256} << 20;
  Mapping first;
  ASSERT_TRUE(reserve(size_bytes, nullptr, Placement::if_free, first).ok());
  std::byte* const at = first.begin();
  Mapping second;
  EXPECT_EQ(reserve(size_bytes, at, Placement::must, second).code, EEXIST);
  ASSERT_TRUE(reserve(page_size(), at, Placement::if_free, second).ok());
  EXPECT_NE(second.begin(), at);
  first.release();
  ASSERT_TRUE(reserve(size_bytes, at, Placement::must, second).ok());
  EXPECT_EQ(second.begin(), at);
}

TEST(Memory, RefusesSizesAndAddressesThatAreNotWholePages) {
  Mapping out;
  EXPECT_EQ(reserve(0, nullptr, Placement::if_free, out).code, EINVAL);
  EXPECT_EQ(reserve(page_size() + 1, nullptr, Placement::if_free, out).code, EINVAL);
  EXPECT_EQ(reserve(page_size(), reinterpret_cast<void*>(1), Placement::if_free, out).code, EINVAL);
  EXPECT_EQ(reserve(page_size(), nullptr, Placement::must, out).code, EINVAL);
}

TEST(Memory, APrivateViewShowsTheFileUntilItIsStoredTo) {
  FileDescriptor file;
  ASSERT_TRUE(create_shared_memory(2 * page_size(), file).ok());
  MapRequest request;
  request.fd = file.get();
  request.size_bytes = 2 * page_size();
  Mapping shared;
  ASSERT_TRUE(map_file(request, shared).ok());
  request.private_view = true;
  Mapping view;
  ASSERT_TRUE(map_file(request, view).ok());

  std::memset(shared.begin(), 'a', 2 * page_size());
  EXPECT_EQ(view.begin()[0], std::byte{'a'});
  view.begin()[0] = std::byte{'b'};
  EXPECT_EQ(shared.begin()[0], std::byte{'a'});
  std::memset(shared.begin(), 'c', 2 * page_size());
  EXPECT_EQ(view.begin()[1], std::byte{'a'});
  EXPECT_EQ(view.begin()[page_size()], std::byte{'c'});
  ASSERT_TRUE(drop_private_pages(view.begin(), page_size()).ok());
  EXPECT_EQ(view.begin()[0], std::byte{'c'});
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
