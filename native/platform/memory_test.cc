#include "platform/memory.h"

#include <gtest/gtest.h>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

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

TEST(Memory, PrefaultingChangesNoByteOfAnyRange) {
  const std::size_t size_bytes = 8 * page_size();
  std::vector<std::byte> memory(size_bytes, std::byte{7});
  for (const std::size_t begin : {std::size_t{0}, std::size_t{1}, page_size(), size_bytes - 1}) {
    for (const std::size_t end : {begin, begin + 1, size_bytes}) {
      prefault(memory.data() + begin, end - begin);
    }
  }
  EXPECT_EQ(memory, std::vector<std::byte>(size_bytes, std::byte{7}));
}

#if defined(__linux__)

class Prefaulting : public ::testing::Test {
 protected:
  static constexpr std::size_t page_count = 16;

  void SetUp() override {
    ASSERT_TRUE(reserve(page_count * page_size(), nullptr, Placement::if_free, memory_).ok());
    ASSERT_TRUE(protect(page(0), page_count * page_size(), Protection::read_write).ok());
  }

  [[nodiscard]] std::byte* page(std::size_t index) const {
    return memory_.begin() + index * page_size();
  }
  // The kernel under an emulated machine may have smaller pages, and answers for each of its own.
  [[nodiscard]] bool is_present(std::size_t index) const {
    constexpr std::size_t smallest_page_bytes = 4096;
    std::vector<unsigned char> parts(page_size() / smallest_page_bytes);
    EXPECT_EQ(mincore(page(index), page_size(), parts.data()), 0);
    return (parts[0] & 1) != 0;
  }
  [[nodiscard]] std::size_t present_pages() const {
    std::size_t count = 0;
    for (std::size_t index = 0; index < page_count; ++index) count += is_present(index) ? 1 : 0;
    return count;
  }
  void prefault_all() { prefault(page(0), page_count * page_size()); }

  Mapping memory_;
};

TEST_F(Prefaulting, TakesNewPages) {
  ASSERT_EQ(present_pages(), 0u);
  prefault_all();
  if (present_pages() == 0) GTEST_SKIP() << "the system cannot do it";
  EXPECT_EQ(present_pages(), page_count);
}

TEST_F(Prefaulting, TakesPagesBetweenThoseThatMallocHasWrittenTo) {
  *page(0) = std::byte{1};
  *page(page_count - 1) = std::byte{1};
  prefault_all();
  if (present_pages() == 2) GTEST_SKIP() << "the system cannot do it";
  EXPECT_EQ(present_pages(), page_count);
}

TEST_F(Prefaulting, LeavesUsedMemoryAlone) {
  *page(page_count / 2) = std::byte{1};
  prefault_all();
  EXPECT_EQ(present_pages(), 1u) << "a look at all pages costs more than it saves";
}

#endif

TEST(Memory, AFileIsWrittenToAsByStores) {
  FileDescriptor file;
  ASSERT_TRUE(create_shared_memory(4 * page_size(), file).ok());
  MapRequest request;
  request.fd = file.get();
  request.size_bytes = 4 * page_size();
  Mapping mapping;
  ASSERT_TRUE(map_file(request, mapping).ok());
  mapping.begin()[page_size()] = std::byte{1};
  const std::vector<std::byte> bytes(page_size() + 2, std::byte{9});
  const Status written = write_file(file.get(), page_size() + 1, bytes.data(), bytes.size());
  if (written.code == ENOTSUP) return;
  ASSERT_TRUE(written.ok()) << written.what;
  const std::byte* const here = mapping.begin() + page_size();
  EXPECT_EQ(here[0], std::byte{1});
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), here + 1));
  EXPECT_EQ(here[bytes.size() + 1], std::byte{0});
  EXPECT_FALSE(write_file(-1, 0, bytes.data(), 1).ok());
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

TEST(Memory, CountsWhatMappingsTakeAndForgetsItWithThem) {
  const MappingUse before = mapping_use();
  {
    Mapping reservation;
    ASSERT_TRUE(reserve(4 * page_size(), nullptr, Placement::if_free, reservation).ok());
    EXPECT_EQ(mapping_use().bytes, before.bytes + 4 * page_size());
    FileDescriptor file;
    ASSERT_TRUE(create_shared_memory(page_size(), file).ok());
    MapRequest request;
    request.fd = file.get();
    request.size_bytes = page_size();
    request.wanted = reservation.begin();
    request.placement = Placement::over_reservation;
    Mapping inside;
    ASSERT_TRUE(map_file(request, inside).ok());
    EXPECT_EQ(mapping_use().bytes, before.bytes + 4 * page_size()) << "counted already";
    EXPECT_EQ(mapping_use().mappings, before.mappings + 2);
    const Mapping moved = std::move(inside);
    EXPECT_EQ(mapping_use().mappings, before.mappings + 2);
  }
  EXPECT_EQ(mapping_use().bytes, before.bytes);
  EXPECT_EQ(mapping_use().mappings, before.mappings);
}

// Until it is refused, or more than enough.
Status reserve_many(std::size_t size_bytes, std::size_t most, std::vector<Mapping>& out) {
  Status status;
  while (status.ok() && out.size() < most) {
    status = reserve(size_bytes, nullptr, Placement::if_free, out.emplace_back());
  }
  return status;
}

TEST(Memory, LeavesHalfOfTheAddressSpaceToTheProgram) {
  if (sizeof(void*) < 8) GTEST_SKIP() << "32-bit machines reserve nothing ahead";
  if (std::getenv("IW_RESERVATION_MIB") != nullptr) GTEST_SKIP() << "address space is dear here";
  const std::size_t part = static_cast<std::size_t>(mapping_limits().bytes / 16);
  std::vector<Mapping> all;
  const Status refused = reserve_many(part, 100, all);
  EXPECT_EQ(refused.code, ENOMEM);
  EXPECT_LE(all.size(), 17U);
  EXPECT_NE(std::string(refused.what).find("half of what this machine has"), std::string::npos)
      << refused.what;
  all.pop_back();
  all.pop_back();
  Mapping again;
  EXPECT_TRUE(reserve(part, nullptr, Placement::if_free, again).ok()) << "room again";
}

#if defined(__linux__)
TEST(Memory, LeavesAQuarterOfTheMappingsToTheProgram) {
  const std::uint64_t limit = mapping_limits().mappings;
  if (limit > 100'000) GTEST_SKIP() << "this system allows too many to try";
  std::vector<Mapping> all;
  const Status refused = reserve_many(page_size(), 100'000, all);
  EXPECT_EQ(refused.code, ENOMEM);
  EXPECT_NE(std::string(refused.what).find("vm.max_map_count"), std::string::npos) << refused.what;
  EXPECT_LE(all.size(), limit + 1);
}
#endif

}  // namespace
}  // namespace iw::platform
