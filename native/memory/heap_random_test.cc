// Random sequences of everything a session does with a heap, beside a model of plain maps: sections
// committed and rolled back, blocks arriving and going, stores with and without the lock.
#include <algorithm>
#include <map>
#include <random>

#include "memory/heap_fixture.h"

namespace iw::memory {
namespace {

struct ModelBlock {
  std::byte* address;
  std::string name;
  std::vector<std::byte> bytes;
};
using Model = std::map<std::uint64_t, ModelBlock>;

class Walk {
 public:
  Walk(Heap& heap, unsigned seed) : heap_(heap), random_(seed) {}

  void step() {
    ++steps_;
    if (!heap_.is_writing()) return outside();
    switch (below(12)) {
      case 0:
        return commit();
      case 1:
        return roll_back();
      case 2:
      case 3:
      case 4:
        return allocate();
      case 5:
      case 6:
        return free();
      case 7:
        return try_to_release();
      default:
        return store();
    }
  }

  void check() {
    const Usage usage = heap_.usage();
    ASSERT_EQ(usage.blocks, now_.size() + freed_);
    Block block;
    for (const auto& [serial, expected] : now_) {
      ASSERT_TRUE(heap_.find(serial, block)) << serial;
      ASSERT_EQ(block.address, expected.address) << serial;
      ASSERT_EQ(block.size_bytes, expected.bytes.size());
      ASSERT_EQ(std::memcmp(block.address, expected.bytes.data(), block.size_bytes), 0)
          << "block " << serial << " at step " << steps_;
      ASSERT_TRUE(heap_.find_at(block.address + below(block.size_bytes + 1), block));
      ASSERT_EQ(block.serial, serial);
      ASSERT_EQ(heap_.name_of(serial), expected.name);
      if (expected.name.empty()) continue;
      ASSERT_TRUE(heap_.find(expected.name, block));
      ASSERT_EQ(block.serial, serial);
    }
    block.serial = 0;
    for (const auto& [serial, expected] : now_) {
      ASSERT_TRUE(heap_.next_by_serial(block.serial, block));
      ASSERT_EQ(block.serial, serial);
    }
    ASSERT_FALSE(heap_.next_by_serial(block.serial, block));
    check_addresses();
  }

 private:
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(random_() % end); }

  void check_addresses() {
    Block block;
    const std::byte* last_end = nullptr;
    std::size_t seen = 0;
    for (bool any = heap_.next_by_address(nullptr, block); any;
         any = heap_.next_by_address(block.address, block)) {
      ASSERT_TRUE(last_end == nullptr || block.address > last_end) << "blocks overlap or touch";
      last_end = block.end();
      ++seen;
    }
    ASSERT_EQ(seen, now_.size());
  }

  std::uint64_t any_serial() {
    if (now_.empty()) return 0;
    auto at = now_.lower_bound(below(static_cast<std::size_t>(next_serial_)));
    return (at == now_.end() ? now_.begin() : at)->first;
  }

  std::size_t any_size() {
    const std::size_t kind = below(200);
    if (kind == 0) return 262'000 + below(300'000);
    return 1 + below(kind < 40 ? 5000 : 200);
  }

  std::string any_name() {
    if (below(4) != 0) return {};
    std::string name = "n";
    name += std::to_string(below(300));
    const bool taken = std::any_of(now_.begin(), now_.end(),
                                   [&](const auto& one) { return one.second.name == name; });
    return taken ? std::string() : name;
  }

  void outside() {
    switch (below(5)) {
      case 0:
        return insert();
      case 1:
        return erase();
      case 2:
        return arrive();
      case 3:
        return stray();
      default:
        return begin();
    }
  }

  void begin() {
    before_ = now_;
    IW_OK(begin_write(heap_, {next_serial_, 20}));
    granted_end_ = next_serial_ + 20;
  }

  void allocate() {
    if (next_serial_ == granted_end_ || now_.size() > 300) return;
    Block block;
    const std::size_t size = any_size();
    const std::string name = any_name();
    IW_OK(heap_.allocate(char_type(), size, name, false, block));
    ASSERT_EQ(block.serial, next_serial_);
    now_[next_serial_++] = {block.address, name, std::vector<std::byte>(size)};
  }

  void free() {
    const std::uint64_t serial = any_serial();
    if (serial == 0) return;
    IW_OK(heap_.free(serial));
    freed_ += before_.contains(serial) ? 1 : 0;
    now_.erase(serial);
  }

  void store() {
    const std::uint64_t serial = any_serial();
    if (serial == 0) return;
    ModelBlock& block = now_[serial];
    const std::size_t first = below(block.bytes.size());
    const std::size_t count = 1 + below(std::min<std::size_t>(block.bytes.size() - first, 50));
    for (std::size_t i = first; i < first + count; ++i) {
      block.bytes[i] = static_cast<std::byte>(random_());
      block.address[i] = block.bytes[i];
    }
  }

  // And fail before anything is sent.
  void try_to_release() {
    std::vector<SubsegmentPages> pages;
    IW_OK(heap_.collect(pages));
    IW_OK(heap_.resume_write());
  }

  void commit() {
    std::vector<SubsegmentPages> pages;
    std::vector<SubsegmentRuns> runs;
    IW_OK(heap_.collect(pages));
    IW_OK(heap_.changed_runs(pages, runs));
    // What is sent, applied to what was before, gives what is now.
    for (const auto& [serial, block] : now_) {
      auto [at, is_new] = before_.try_emplace(serial, block);
      if (is_new) std::fill(at->second.bytes.begin(), at->second.bytes.end(), std::byte{0});
    }
    std::erase_if(before_, [&](const auto& one) { return !now_.contains(one.first); });
    heap_.for_each_part(runs, [&](const BlockPart& part) {
      auto to = before_.at(part.block.serial).bytes.begin();
      std::copy_n(part.view, part.length_bytes,
                  to + static_cast<std::ptrdiff_t>(part.offset_bytes));
    });
    for (const auto& [serial, block] : now_) ASSERT_EQ(before_[serial].bytes, block.bytes);
    IW_OK(heap_.commit_write(runs));
    end_section();
  }

  void roll_back() {
    IW_OK(heap_.rollback_write());
    now_ = before_;
    end_section();
  }

  void end_section() {
    freed_ = 0;
    next_serial_ = granted_end_;
  }

  void insert() {
    if (now_.size() > 300) return;
    const std::uint64_t serial = next_serial_++;
    const std::size_t size = any_size();
    const std::string name = any_name();
    Block block;
    if (below(3) == 0) IW_OK(heap_.reserve(serial, char_type(), size, name, block));
    const std::byte* reserved = block.address;
    IW_OK(heap_.insert(serial, char_type(), size, name, false, block));
    ASSERT_TRUE(reserved == nullptr || reserved == block.address);
    IW_OK(heap_.apply_done());
    now_[serial] = {block.address, name, std::vector<std::byte>(size)};
  }

  void erase() {
    const std::uint64_t serial = any_serial();
    if (serial == 0) return;
    IW_OK(heap_.erase(serial));
    if (below(2) == 0) IW_OK(heap_.apply_done());
    now_.erase(serial);
    IW_OK(heap_.apply_done());
  }

  void arrive() {
    const std::uint64_t serial = any_serial();
    if (serial == 0) return;
    ModelBlock& model = now_[serial];
    Block block;
    ASSERT_TRUE(heap_.find(serial, block));
    const std::size_t first = below(model.bytes.size());
    for (std::size_t i = first; i < model.bytes.size(); ++i) {
      model.bytes[i] = static_cast<std::byte>(random_());
    }
    IW_OK(write_incoming(heap_, block, first, model.bytes.data() + first,
                         model.bytes.size() - first));
  }

  void stray() {
    const std::uint64_t serial = any_serial();
    if (serial == 0) return;
    ModelBlock& block = now_[serial];
    block.address[below(block.bytes.size())] ^= std::byte{0xFF};
    std::vector<SubsegmentPages> pages;
    IW_OK(heap_.collect(pages));
    IW_OK(heap_.undo(pages));
  }

  Heap& heap_;
  std::mt19937_64 random_;
  Model now_;
  Model before_;  // when the section began
  std::uint64_t next_serial_ = 1;
  std::uint64_t granted_end_ = 1;
  std::size_t freed_ = 0;  // in the section, of blocks from before it
  std::size_t steps_ = 0;
};

using HeapRandom = EachHeap;

TEST_P(HeapRandom, EqualsItsModel) {
  const bool is_first = GetParam() == track::names_to_test().front();
  const int steps = is_first ? 100'000 : 10'000;
  Walk walk(heap(), 1);
  for (int i = 0; i < steps; ++i) {
    walk.step();
    if (i % 500 == 0) walk.check();
    if (HasFatalFailure()) return;
  }
  walk.check();
}

IW_FOR_EACH_HEAP(HeapRandom);

}  // namespace
}  // namespace iw::memory
