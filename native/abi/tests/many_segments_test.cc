// More open segments than a process has mappings for three each: `make test-deep`.
// IW_TEST_MANY_SEGMENTS is another number of them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "abi/tests/server_process.h"
#include "interweave.h"
#include "platform/memory.h"

namespace iw::test {
namespace {

int many_segments() {
  const char* const given = std::getenv("IW_TEST_MANY_SEGMENTS");
  return given == nullptr ? 20'000 : std::atoi(given);
}

void write_number(IW_handle_t segment, int number) {
  ASSERT_EQ(IW_wl_acquire(segment), 0) << number << ": " << IW_strerror();
  auto* const block = static_cast<int*>(IW_malloc(segment, IW_int));
  ASSERT_NE(block, nullptr) << number << ": " << IW_strerror();
  *block = number;
  ASSERT_EQ(IW_wl_release(segment), 0) << number << ": " << IW_strerror();
}

void expect_number(IW_handle_t segment, int number) {
  ASSERT_EQ(IW_rl_acquire(segment), 0) << number << ": " << IW_strerror();
  const auto* const block = static_cast<const int*>(IW_next_block(segment, nullptr));
  ASSERT_NE(block, nullptr) << number;
  EXPECT_EQ(*block, number);
  ASSERT_EQ(IW_rl_release(segment), 0);
}

TEST(ManySegments, DISABLED_VeryManyAreOpenAndTheProgramStillAllocates) {
  const int many = many_segments();
  const Server server;
  ASSERT_TRUE(server.good());
  std::vector<IW_handle_t> segments;
  for (int i = 0; i < many; ++i) {
    segments.push_back(IW_open_segment(server.url("/many-" + std::to_string(i)).c_str()));
    ASSERT_NE(segments.back(), nullptr) << i << ": " << IW_strerror();
    ASSERT_NO_FATAL_FAILURE(write_number(segments.back(), i));
  }
  constexpr std::size_t of_the_program = std::size_t{256} << 20;
  const auto memory = std::make_unique<char[]>(of_the_program);
  std::memset(memory.get(), 1, of_the_program);
  EXPECT_LT(platform::mapping_use().bytes, platform::address_space_bytes() / 2);
  EXPECT_LT(platform::mapping_use().mappings, platform::mapping_limits().mappings / 2);
  for (int i = 0; i < many; ++i) ASSERT_NO_FATAL_FAILURE(expect_number(segments[i], i));
  for (const IW_handle_t segment : segments) ASSERT_EQ(IW_close_segment(segment), 0);
  EXPECT_LT(platform::mapping_use().bytes, std::uint64_t{1} << 40) << "given back";
}

}  // namespace
}  // namespace iw::test
