// What POSIX systems promise beyond the contract (tracker.h): system calls that store to a view,
// and the memory that a sparse area takes.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "track/tracker_fixture.h"

namespace iw::track {
namespace {

class SystemCalls : public EachTracker {};
IW_FOR_EACH_TRACKER(SystemCalls);

TEST_P(SystemCalls, StoreToTheViewOrFailWithoutHarm) {
  auto area = new_area(4);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "data", 4), 4);
  ASSERT_TRUE(area->arm().ok());
  const ssize_t got = read(ends[0], area->view() + platform::page_size(), 4);
  if (traps_stores()) {
    EXPECT_EQ(got, -1);
    EXPECT_EQ(errno, EFAULT);
  } else {
    EXPECT_EQ(got, 4);
    EXPECT_TRUE(collected(*area).contains(1));
    EXPECT_EQ(std::memcmp(area->view() + platform::page_size(), "data", 4), 0);
  }
  close(ends[0]);
  close(ends[1]);
}

TEST_P(SystemCalls, ASparseAreaTakesOnlyTheMemoryItUses) {
  const std::size_t size_bytes = std::size_t{64} << 20;
  const std::size_t pages = size_bytes / platform::page_size();
  platform::FileDescriptor file;
  ASSERT_TRUE(platform::create_shared_memory(size_bytes, file).ok());
  Status status;
  auto area = tracker().create(size_bytes, nullptr, false, file.get(), status);
  ASSERT_NE(area, nullptr) << status.what;
  ASSERT_TRUE(area->arm().ok());
  Pages stored;
  for (std::size_t i = 0; i < 16; ++i) {
    const std::size_t page = (i * 7919) % pages;
    view_word(*area, page) = 1;
    stored.insert(page);
  }
  const Pages found = collected(*area);
  if (tracker().finds_pages()) {
    EXPECT_EQ(found, stored);
  }
  struct stat info {};
  ASSERT_EQ(fstat(file.get(), &info), 0);
  EXPECT_LE(static_cast<std::size_t>(info.st_blocks) * 512, 64 * platform::page_size());
}

}  // namespace
}  // namespace iw::track
