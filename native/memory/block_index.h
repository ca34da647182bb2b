// The records of one heap and their indexes: by serial, by name, by address, and in the order of
// serials. A record describes an extent of a subsegment: a block, or free space. Records and
// indexes take at most 64 bytes a block, without names.
//
// REQUIRES: the heap's gate guards every call. Functions that may throw std::bad_alloc say so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "memory/block.h"
#include "memory/hash_index.h"
#include "memory/trail.h"

namespace iw::memory {

enum RecordFlag : unsigned {
  flag_free = 1,  // free space: `count` is its size in bytes
  flag_new = 2,
  flag_freed = 4,
  flag_reserved = 8,
  flag_owned = 16,
  flag_doubtful = 32,  // a complete copy is arriving, and has not said that the block exists
  flag_unused = 64
};

struct Record {
  std::byte* address = nullptr;
  std::uint64_t serial : 48 = 0;
  std::uint64_t flags : 16 = 0;
  std::uint64_t count = 0;
  // A block's type and name, as numbers of the index; the neighbours in its bin for free space; the
  // next unused record.
  std::uint32_t type_or_next = 0;
  std::uint32_t name_or_previous = 0;

  [[nodiscard]] bool is(unsigned flags_wanted) const { return (flags & flags_wanted) != 0; }
  [[nodiscard]] bool is_visible() const { return !is(flag_free | flag_freed | flag_doubtful); }
};
static_assert(sizeof(Record) <= 32);

class BlockIndex {
 public:
  BlockIndex();

  [[nodiscard]] Record& at(RecordId id) { return chunks_[id / chunk_records][id % chunk_records]; }
  [[nodiscard]] const Record& at(RecordId id) const {
    return chunks_[id / chunk_records][id % chunk_records];
  }
  [[nodiscard]] Block block_of(const Record& record) const {
    const TypeUse& type = types_[record.type_or_next];
    return {record.serial,
            type.type,
            record.count,
            record.address,
            static_cast<std::size_t>(record.count) * type.value_bytes,
            record.is(flag_new),
            record.is(flag_freed),
            record.is(flag_reserved),
            record.is(flag_owned),
            record.name_or_previous != 0};
  }
  [[nodiscard]] std::size_t size_bytes(const Record& block) const {
    return static_cast<std::size_t>(block.count) * types_[block.type_or_next].value_bytes;
  }

  // Makes room for a block of this type and its extents. The calls that follow, up to one
  // make_block and three add_free, then do not throw. Throws std::bad_alloc itself.
  void prepare(const types::Type& type);
  // Takes back a prepare() that was not used.
  void unprepare(const types::Type& type);
  // Stores a name for make_block or forget_name. Throws std::bad_alloc.
  std::uint32_t keep_name(std::string_view name);
  void forget_name(std::uint32_t number);

  RecordId add_free(std::byte* address, std::size_t size_bytes);
  // Makes a block of the free extent of `id`.
  void make_block(RecordId id, std::uint64_t serial, const types::Type& type, std::uint64_t count,
                  unsigned flags, std::uint32_t name_number);
  // Makes free space of that size of the block's extent, and forgets the block's name.
  void make_free(RecordId id, std::size_t extent_bytes);
  void remove(RecordId free_extent);

  void rename(RecordId id, std::string_view name);  // throws std::bad_alloc
  void unlink_name(RecordId id);                    // no longer found by name
  void relink_name(RecordId id);
  void set_type(RecordId id, const types::Type& type);  // throws std::bad_alloc
  [[nodiscard]] std::string_view name_of(const Record& block) const;

  [[nodiscard]] RecordId by_serial(std::uint64_t serial) const;
  [[nodiscard]] RecordId by_name(std::string_view name) const;
  [[nodiscard]] RecordId by_address(const std::byte* address) const;  // of the extent's beginning
  // As above, along a trail. Free space has serial 0 and unused records have no address, so serial
  // or address alone tells whether the expected record is the right one.
  [[nodiscard]] RecordId by_serial(std::uint64_t serial, Trail& trail) const {
    return along(
        trail, [&](const Record& record) { return serial != 0 && record.serial == serial; },
        [&] { return by_serial(serial); });
  }
  [[nodiscard]] RecordId by_address(const std::byte* address, Trail& trail) const {
    return along(
        trail, [&](const Record& record) { return record.address == address; },
        [&] { return by_address(address); });
  }

  // Prefetches for a row of look-ups that will not follow a trail: their memory then comes to the
  // cache at once instead of one by one. The keys are overwritten.
  void fetch_addresses(std::span<std::uint64_t> keys) const { fetch(addresses_, keys); }
  void fetch_serials(std::span<std::uint64_t> keys) const { fetch(serials_, keys); }

  // Serials in order. needs_sorting() first, by somebody who may change the index.
  [[nodiscard]] bool needs_sorting() const { return !is_sorted_; }
  void sort();
  [[nodiscard]] RecordId next_visible(std::uint64_t after_serial) const;

  // Calls f(RecordId) for every block, in no order; f changes flags and names at most.
  template <typename F>
  void for_each_block(F f) const {
    const std::size_t end = chunks_.size() * chunk_records;
    for (std::size_t i = 0; i < end; ++i) {
      const auto id = static_cast<RecordId>(i);
      if (!at(id).is(flag_free | flag_unused)) f(id);
    }
  }

  [[nodiscard]] std::size_t block_count() const { return block_count_; }
  [[nodiscard]] std::size_t bytes() const;

 private:
  static constexpr std::size_t chunk_records = 128;
  struct TypeUse {
    const types::Type* type = nullptr;
    std::size_t value_bytes = 0;
    std::size_t blocks = 0;
  };

  void fetch(const HashIndex& index, std::span<std::uint64_t> keys) const;

  template <typename Matches, typename Search>
  RecordId along(Trail& trail, Matches matches, Search search) const {
    RecordId id = trail.expected;
    if (trail.predicts && id / chunk_records < chunks_.size() && matches(at(id))) {
      trail.follow();
    } else {
      trail.is_followed = false;
      ++trail.searched;
      id = search();
    }
    trail.expected = id + 1;
    return id;
  }

  [[nodiscard]] std::uint64_t hash_of(std::uint64_t number) const;
  [[nodiscard]] std::uint64_t hash_of(std::string_view name) const;
  [[nodiscard]] std::uint64_t address_hash(RecordId id) const;
  [[nodiscard]] std::uint64_t serial_hash(RecordId id) const;
  [[nodiscard]] std::uint64_t name_hash(RecordId id) const;
  std::uint32_t number_of(const types::Type& type);
  void drop_type(std::uint32_t number);
  void forget_serial();
  void add_unused(RecordId id);

  std::uint64_t seed_ = 0;
  std::vector<std::unique_ptr<Record[]>> chunks_;
  RecordId unused_ = no_record;  // first of a chain
  std::size_t unused_count_ = 0;
  std::size_t block_count_ = 0;

  HashIndex serials_;
  HashIndex addresses_;
  HashIndex names_;

  std::vector<std::uint64_t> order_;  // of serials; those of freed blocks are skipped
  std::size_t gone_ = 0;
  bool is_sorted_ = true;

  std::vector<TypeUse> types_;
  std::vector<std::uint32_t> unused_types_;
  std::unordered_map<const types::Type*, std::uint32_t> type_numbers_;
  std::deque<std::string> name_texts_;  // number 0: no name
  std::vector<std::uint32_t> unused_names_;
};

}  // namespace iw::memory
