// Blocks are copied by their sender, because they may have to come back. The receiver copies a
// block only into its segment.
#include <fstream>

#include "am/am_processes.h"

using namespace iw::am_test;
using iw::testing::Child;

namespace {

constexpr std::size_t block_bytes = 1024;

// Whether an address is in a segment that processes share, to which the sender's transport writes.
bool is_shared(const void* address) {
  const auto sought = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) != 2) continue;
    if (sought >= begin && sought < end) return line.find("/SYSV") != std::string::npos;
  }
  return false;
}

bool was_shared = false, has_arrived = false;
const void* where = nullptr;
void on_block(void*, void* block, std::size_t, int) {
  where = block;
  was_shared = is_shared(block);
  has_arrived = true;
}

std::vector<std::byte> returned;
void on_returned(int, op_t, const am_returned_t* message) {
  const auto* bytes = static_cast<const std::byte*>(message->block);
  returned.assign(bytes, bytes + message->nbytes);
}

class Copies : public ::testing::Test {
 protected:
  Copies() {
    has_arrived = false;
    here_.set(0, handler(&on_returned));
    here_.set(2, handler(&on_block));
    here_.set(3, handler(&on_block));
  }
  static bool set_transport() { return setenv("IW_FABRIC", "shm", 1) == 0; }
  const bool is_set_ = set_transport();
  const Library library_;
  const Endpoint here_;
  Child there_{"echo"};
  const int to_ = here_.map(there_.line().hear_value<en_t>());
  std::vector<std::byte> block_ = std::vector<std::byte>(block_bytes, std::byte{1});
};

}  // namespace

// The fabric keeps a copy of a message that the transport delivers outside of a poll, for instance
// inside a call that sends (UcxWorker::deliver_later). So not each block is handed over in place.
TEST_F(Copies, ABlockIsHandedOverWhereTheTransportPutIt) {
  constexpr int blocks = 20;
  int in_place = 0;
  for (int i = 0; i < blocks; ++i) {
    has_arrived = false;
    ASSERT_EQ(AM_RequestI1(here_.ep, to_, echo_block, block_.data(), block_.size(), 0), AM_OK);
    ASSERT_TRUE(here_.poll_until([] { return has_arrived; }));
    in_place += was_shared ? 1 : 0;
  }
  EXPECT_GT(in_place, blocks / 2);
}

TEST_F(Copies, AnXferBlockIsCopiedIntoTheSegment) {
  ASSERT_EQ(AM_RequestXfer1(here_.ep, to_, 0, echo_xfer, block_.data(), block_.size(), 0), AM_OK);
  ASSERT_TRUE(here_.poll_until([] { return has_arrived; }));
  EXPECT_FALSE(was_shared);
  EXPECT_EQ(where, here_.segment.data() + 64);
}

TEST_F(Copies, WhatComesBackIsWhatWasSent) {
  there_.stop();
  ASSERT_EQ(AM_RequestI1(here_.ep, to_, echo_block, block_.data(), block_.size(), 0), AM_OK);
  std::fill(block_.begin(), block_.end(), std::byte{2});  // the program may use its block again
  there_.kill();
  ASSERT_TRUE(here_.poll_until([] { return !returned.empty(); }));
  EXPECT_EQ(returned, std::vector(block_bytes, std::byte{1}));
}
