#include "platform/memory.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
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
  const Status dropped = drop_private_pages(view.begin(), page_size());
  EXPECT_EQ(dropped.ok(), can_drop_private_pages);
  EXPECT_EQ(view.begin()[0], std::byte{can_drop_private_pages ? 'c' : 'b'});
}

TEST(Memory, AReservationIsMadeAccessibleInParts) {
  Mapping space;
  ASSERT_TRUE(reserve(4 * page_size(), nullptr, Placement::if_free, space).ok());
  std::byte* const second = space.begin() + page_size();
  ASSERT_TRUE(protect(second, page_size(), Protection::read_write).ok());
  EXPECT_EQ(second[5], std::byte{0});
  second[5] = std::byte{7};
  ASSERT_TRUE(protect(space.begin(), 4 * page_size(), Protection::read_write).ok());
  EXPECT_EQ(second[5], std::byte{7});
  space.begin()[3 * page_size()] = std::byte{1};
}

TEST(Memory, APartOfAReservationIsReplacedAndGivenBack) {
  constexpr std::size_t granule = std::size_t{64} << 10;
  Mapping space;
  ASSERT_TRUE(reserve(8 * granule, nullptr, Placement::if_free, space).ok());
  FileDescriptor file;
  ASSERT_TRUE(create_shared_memory(granule, file).ok());
  std::size_t file_bytes = 0;
  ASSERT_TRUE(file_size(file.get(), file_bytes).ok());
  EXPECT_EQ(file_bytes, granule);
  const auto begin = reinterpret_cast<std::uintptr_t>(space.begin());
  std::byte* const first = space.begin() + (granule - begin % granule) % granule;
  MapRequest request;
  request.fd = file.get();
  request.size_bytes = granule;
  request.placement = Placement::over_reservation;
  // In an order that splits what is left, and joins it.
  Mapping views[3];
  for (const std::size_t at : {2, 5, 3}) {
    request.wanted = first + at * granule;
    ASSERT_TRUE(map_file(request, views[at % 3]).ok());
    EXPECT_EQ(views[at % 3].begin(), request.wanted);
    if (at == 5) views[2].release();
  }
  views[0].begin()[0] = std::byte{9};
  views[0].release();
  request.wanted = first + 2 * granule;
  request.size_bytes = granule;
  ASSERT_TRUE(map_file(request, views[0]).ok());
  EXPECT_EQ(views[0].begin()[0], std::byte{9});
  for (std::size_t at = 0; at < 7; ++at) {
    Mapping other;
    EXPECT_EQ(reserve(granule, first + at * granule, Placement::must, other).code, EEXIST) << at;
  }
  views[0].release();
  std::byte* const whole = space.begin();
  space.release();
  ASSERT_TRUE(reserve(8 * granule, whole, Placement::must, space).ok());
}

}  // namespace
}  // namespace iw::platform
