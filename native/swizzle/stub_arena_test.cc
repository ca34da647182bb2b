#include "swizzle/stub_arena.h"

#include <gtest/gtest.h>

#include <csignal>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "platform/memory.h"
#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace iw::swizzle {
namespace {

using types::error_code;

types::Url url_of(const std::string& text) {
  types::Url url;
  EXPECT_TRUE(types::parse_url(text, url).ok());
  return url;
}

void* stub(StubArena& arena, const std::string& url, std::uint64_t serial, std::uint64_t unit,
           StubReason reason = StubReason::not_mapped) {
  void* address = nullptr;
  const Result made = arena.stub_for(url_of(url), serial, unit, reason, address);
  EXPECT_TRUE(made.ok()) << made.text;
  return address;
}

TEST(StubArena, GivesEachPlaceOneAddress) {
  StubArena arena;
  std::set<void*> all;
  for (const char* url : {"h/a", "h/b"}) {
    for (std::uint64_t serial = 1; serial <= 40; ++serial) {
      for (std::uint64_t unit = 0; unit < 40; ++unit) {
        void* address = stub(arena, url, serial, unit);
        EXPECT_EQ(stub(arena, url, serial, unit), address);
        all.insert(address);
        StubTarget target;
        ASSERT_TRUE(arena.find(address, target));
        EXPECT_EQ(target.url, url_of(url));
        EXPECT_EQ(target.serial, serial);
        EXPECT_EQ(target.unit, unit);
      }
    }
  }
  EXPECT_EQ(all.size(), 3200U);
  EXPECT_EQ(arena.size(), 3200U);
}

TEST(StubArena, KnowsNoOtherAddress) {
  StubArena arena;
  StubTarget target;
  EXPECT_FALSE(arena.find(&target, target));
  auto* address = static_cast<std::byte*>(stub(arena, "h/a", 1, 0));
  EXPECT_FALSE(arena.find(nullptr, target));
  EXPECT_FALSE(arena.find(&target, target));
  EXPECT_FALSE(arena.find(address + 1, target));
  EXPECT_FALSE(arena.find(address - 1, target));
  EXPECT_FALSE(arena.find(address + (1 << 20), target));
  EXPECT_FALSE(arena.find(address + platform::page_size(), target)) << "the next one's place";
}

TEST(StubArena, ABetterReasonReplacesAWorse) {
  StubArena arena;
  StubTarget target;
  void* address = stub(arena, "h/a", 1, 0);
  stub(arena, "h/a", 1, 0, StubReason::unreachable);
  ASSERT_TRUE(arena.find(address, target));
  EXPECT_EQ(target.reason, StubReason::unreachable);
  stub(arena, "h/a", 1, 0, StubReason::not_mapped);
  ASSERT_TRUE(arena.find(address, target));
  EXPECT_EQ(target.reason, StubReason::unreachable);
}

TEST(StubArena, IsBounded) {
  StubArena arena(3);
  for (std::uint64_t serial = 1; serial <= 3; ++serial) stub(arena, "h/a", serial, 0);
  void* address = nullptr;
  const Result full = arena.stub_for(url_of("h/a"), 4, 0, StubReason::no_block, address);
  EXPECT_EQ(full.code, error_code::NO_MEMORY);
  EXPECT_EQ(stub(arena, "h/a", 2, 0), stub(arena, "h/a", 2, 0)) << "known ones still work";
  EXPECT_NE(stub(arena, "h/a", 1, 0), nullptr);
  EXPECT_NE(full.text.find("holds 3 pointers"), std::string::npos) << full.text;
  StubArena none(0);
  EXPECT_EQ(none.stub_for(url_of("h/a"), 1, 0, StubReason::no_block, address).code,
            error_code::NO_MEMORY);
}

TEST(StubArena, ALargeAddressSpaceHasRoomForManyThousands) {
  if (sizeof(void*) < 8) GTEST_SKIP() << "a small one has not";
  StubArena arena;
  for (std::uint64_t serial = 1; serial <= 5000; ++serial) stub(arena, "h/a", serial, 0);
  EXPECT_EQ(arena.size(), 5000U);
}

TEST(StubArena, AProgramHasOne) { EXPECT_EQ(&StubArena::program(), &StubArena::program()); }

#if !defined(_WIN32)
TEST(StubArena, AForkedChildHasItsOwn) {
  StubArena& parents = StubArena::program();
  stub(parents, "h/a", 1, 0);
  const pid_t child = fork();
  if (child == 0) {
    StubArena& own = StubArena::program();
    _exit(&own != &parents && own.size() == 0 && &own == &StubArena::program() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(&StubArena::program(), &parents);
}
#endif

TEST(StubArena, ThreadsMayShareIt) {
  StubArena arena;
  std::vector<std::vector<void*>> seen(4);
  std::vector<std::thread> threads;
  for (auto& mine : seen) {
    threads.emplace_back([&arena, &mine] {
      for (std::uint64_t i = 0; i < 2000; ++i) {
        mine.push_back(stub(arena, "h/a", i, 0));
        StubTarget target;
        if (!arena.find(mine.back(), target) || target.serial != i) std::abort();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& mine : seen) EXPECT_EQ(mine, seen[0]);
  EXPECT_EQ(arena.size(), 2000U);
}

// The handler asks whoever was there before, under a sanitizer its own: the line is what counts.
TEST(StubDeathTest, TouchingAStubSaysWhatItIs) {
  const auto touch = [](StubReason reason, std::size_t offset) {
    StubArena arena;
    stub(arena, "h/other", 1, 1);
    auto* address =
        static_cast<volatile char*>(stub(arena, "Host/list", 281474976710655U, 42, reason));
    address[offset] = 1;
  };
  EXPECT_DEATH(touch(StubReason::no_block, 0),
               "leads to iw://host:7747/list#281474976710655#42, which is not here: the segment "
               "has no such block");
  EXPECT_DEATH(touch(StubReason::unreachable, 24), "#42, which is not here: .*not be reached");
  EXPECT_DEATH(touch(StubReason::not_mapped, 0), "not here: the block has no place");
  EXPECT_DEATH(touch(StubReason::no_segment, 0), "not here: the server has no such segment");
  EXPECT_DEATH(touch(StubReason::beyond_end, 0), "not here: the pointer leads past the end");
  EXPECT_DEATH(touch(StubReason::wrong_type, 0), "not here: the value there does not have");
  EXPECT_DEATH(touch(StubReason::no_address_space, 0), "not here: no address space was left");
}

TEST(StubDeathTest, ThePlaceOfNoStubIsNoMemoryEither) {
  const auto touch = [] {
    StubArena arena;
    auto* const address = static_cast<volatile char*>(stub(arena, "h/a", 1, 1));
    address[platform::page_size()] = 1;
  };
  EXPECT_DEATH(touch(), "");
}

TEST(StubDeathTest, TheProcessDiesOfItsSignal) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer takes the signal";
#else
  const auto touch = [] {
    return *static_cast<volatile char*>(stub(StubArena::program(), "h/a", 1, 1));
  };
#if defined(_WIN32)
  const testing::ExitedWithCode of_its_signal(static_cast<int>(0xC0000005));  // access violation
#else
  const testing::KilledBySignal of_its_signal(SIGSEGV);
#endif
  EXPECT_EXIT((void)touch(), of_its_signal, "iw://h:7747/a#1#1");
#endif
}

}  // namespace
}  // namespace iw::swizzle
