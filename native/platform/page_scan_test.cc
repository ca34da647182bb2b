#include "platform/page_scan.h"

#include <gtest/gtest.h>

#include "platform/memory.h"

namespace iw::platform {
namespace {

class PageScan : public testing::Test {
 protected:
  static constexpr std::size_t pages = 700;  // more than the kernel lists in one call

  void SetUp() override {
    if (!PageScanner::open(scanner_).ok()) GTEST_SKIP() << "no page map here";
    FileDescriptor file;
    ASSERT_TRUE(create_shared_memory(pages * page_size(), file).ok());
    MapRequest request;
    request.fd = file.get();
    request.size_bytes = pages * page_size();
    request.private_view = true;
    ASSERT_TRUE(map_file(request, view_).ok());
  }
  void store(std::size_t page) {
    *reinterpret_cast<volatile char*>(view_.begin() + page * page_size()) = 1;
  }
  char load(std::size_t page) {
    return *reinterpret_cast<volatile char*>(view_.begin() + page * page_size());
  }
  static ByteRange range(std::size_t first, std::size_t end) {
    return {first * page_size(), end * page_size()};
  }

  PageScanner scanner_;
  Mapping view_;
};

TEST_F(PageScan, BothWaysListTheSamePrivatePages) {
  std::vector<ByteRange> expected{range(2, 4)};
  store(2);
  store(3);
  EXPECT_EQ(load(5), 0);  // present, but the file's
  for (std::size_t page = 10; page < pages; page += 2) {
    store(page);
    expected.push_back(range(page, page + 1));
  }
  std::vector<ByteRange> by_scan;
  const Status status =
      scanner_.list_private(view_.begin(), view_.begin(), view_.size_bytes(), by_scan);
  if (!status.ok()) GTEST_SKIP() << status.what;  // emulators
  EXPECT_EQ(by_scan, expected);
  std::vector<ByteRange> by_page_map;
  ASSERT_TRUE(
      scanner_
          .list_private_by_page_map(view_.begin(), view_.begin(), view_.size_bytes(), by_page_map)
          .ok());
  EXPECT_EQ(by_page_map, expected);
}

TEST_F(PageScan, OffsetsCountFromTheBaseAndNothingOutsideTheRangeIsListed) {
  for (std::size_t page = 0; page < 20; ++page) store(page);
  std::vector<ByteRange> found;
  const Status status =
      scanner_.list_private(view_.begin(), view_.begin() + 5 * page_size(), 3 * page_size(), found);
  if (!status.ok()) GTEST_SKIP() << status.what;
  EXPECT_EQ(found, (std::vector<ByteRange>{range(5, 8)}));
}

TEST_F(PageScan, AWatchListsEachStoreOnceEvenInManyPieces) {
  WriteWatch watch;
  if (const Status status = WriteWatch::open(watch); !status.ok()) GTEST_SKIP() << status.what;
  ASSERT_TRUE(watch.start(view_.begin(), view_.size_bytes()).ok());
  std::vector<ByteRange> expected;
  for (std::size_t page = 1; page < pages; page += 2) {
    store(page);
    expected.push_back(range(page, page + 1));
  }
  std::vector<ByteRange> found;
  ASSERT_TRUE(scanner_.list_written(view_.begin(), view_.begin(), view_.size_bytes(), found).ok());
  EXPECT_EQ(found, expected);
  found.clear();
  ASSERT_TRUE(scanner_.take_written(view_.begin(), view_.begin(), view_.size_bytes(), found).ok());
  EXPECT_EQ(found, expected) << "listing took them";
  found.clear();
  ASSERT_TRUE(scanner_.take_written(view_.begin(), view_.begin(), view_.size_bytes(), found).ok());
  EXPECT_TRUE(found.empty());
  store(6);
  ASSERT_TRUE(scanner_.take_written(view_.begin(), view_.begin(), view_.size_bytes(), found).ok());
  EXPECT_EQ(found, (std::vector<ByteRange>{range(6, 7)}));
}

TEST_F(PageScan, AnUnwatchedRangeIsAnErrorAndNotAnEmptyList) {
  std::vector<ByteRange> found;
  EXPECT_FALSE(scanner_.take_written(view_.begin(), view_.begin(), view_.size_bytes(), found).ok());
}

}  // namespace
}  // namespace iw::platform
