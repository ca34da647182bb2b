#include "ddss/directory.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "interweave/ddss.h"

namespace iw::ddss {
namespace {

// Other nodes read these words at any time, so whatever belongs to a key is written before the key
// word [DDSS-KEY-2].
void publish(std::uint64_t* word, std::uint64_t key) {
  std::atomic_ref<Key>(*word).store(key, std::memory_order_release);
}

// A block may begin there; 0: none could be reserved.
bool is_place(std::uint64_t offset) {
  return offset == 0 || (offset >= heap_begin && offset % Heap::grain == 0);
}

// `made` is what was created at its home, but for where the blocks lie that are elsewhere
// [DDSS-KEY-4].
bool describes(const Descriptor& made, Descriptor created) {
  const NodeNumber home = home_of(made.key);
  created.key = made.key;
  if (created.data_node != home) created.data_offset = made.data_offset;
  if (created.lock_node == created.data_node) {
    created.lock_offset = created.data_offset;
  } else if (created.lock_node != home) {
    created.lock_offset = made.lock_offset;
  }
  return made == created && is_place(made.data_offset) && is_place(made.lock_offset);
}

}  // namespace

std::size_t data_bytes(const Descriptor& descriptor) {
  if (descriptor.model != DDSS_DELTA) return descriptor.size;
  const std::size_t slot = slot_bytes(descriptor.size);
  const bool is_too_much = slot < descriptor.size || slots_of(descriptor) > SIZE_MAX / 2 / slot;
  return is_too_much ? SIZE_MAX / 2 : slots_of(descriptor) * slot;
}

Directory::Directory(std::span<std::byte> pool) : pool_(pool), heap_(heap_begin, pool.size()) {}

Descriptor& Directory::at(std::size_t index) const {
  return reinterpret_cast<Descriptor*>(pool_.data())[index];
}

BlockHeader& Directory::header_at(std::uint64_t offset) const {
  return *reinterpret_cast<BlockHeader*>(pool_.data() + offset);
}

int Directory::take_block(Key key, std::size_t bytes, std::uint64_t* offset) {
  if (bytes > pool_.size()) return DDSS_EMEMORY;
  const auto found = heap_.take(sizeof(BlockHeader) + bytes);
  if (!found) return DDSS_EMEMORY;
  std::memset(pool_.data() + *found, 0, sizeof(BlockHeader) + bytes);
  blocks_.emplace(key, *found);
  *offset = *found;
  BlockHeader& header = header_at(*found);
  publish(&header.version, version_base(key));
  publish(&header.started, version_base(key));
  publish(&header.key, key);
  return 0;
}

bool Directory::give_back_blocks(Key key) {
  const auto [begin, end] = blocks_.equal_range(key);
  for (auto each = begin; each != end; ++each) {
    publish(&header_at(each->second).key, 0);
    publish(&header_at(each->second).version, 0);
    heap_.give_back(each->second);
  }
  const bool had_any = begin != end;
  blocks_.erase(begin, end);
  return had_any;
}

int Directory::take_entry(std::size_t* index) {
  if (free_entries_.empty()) {
    if (entries_.size() == directory_size) return DDSS_EMEMORY;
    free_entries_.push_back(entries_.size());
    entries_.emplace_back();
  }
  *index = free_entries_.back();
  free_entries_.pop_back();
  entries_[*index].is_taken = true;
  entries_[*index].serial++;
  return 0;
}

int Directory::create(NodeNumber here, Descriptor wanted, Descriptor* made) {
  const platform::MutexLock held(mutex_);
  std::size_t index = 0;
  int error = take_entry(&index);
  if (error != 0) return error;
  const Key key = key_of(here, index, entries_[index].serial);
  if (wanted.data_node == here) error = take_block(key, data_bytes(wanted), &wanted.data_offset);
  if (error == 0 && wanted.lock_node == wanted.data_node) {
    wanted.lock_offset = wanted.data_offset;
  } else if (error == 0 && wanted.lock_node == here) {
    error = take_block(key, 0, &wanted.lock_offset);
  }
  wanted.key = 0;
  at(index) = wanted;
  if (error != 0) {
    give_back_blocks(key);
    entries_[index].is_taken = false;
    free_entries_.push_back(index);
    return error;
  }
  if (wanted.data_node == here && wanted.lock_node == here) publish(&at(index).key, key);
  *made = wanted;
  made->key = key;
  return 0;
}

int Directory::describe(const Descriptor& made) {
  const platform::MutexLock held(mutex_);
  const std::size_t index = index_of(made.key);
  const bool is_mine = index < entries_.size() && entries_[index].is_taken &&
                       entries_[index].serial == static_cast<std::uint32_t>(made.key);
  if (!is_mine || at(index).key != 0) return DDSS_ENOKEY;
  if (!describes(made, at(index))) return DDSS_EARGUMENT;
  Descriptor described = made;
  described.key = 0;
  at(index) = described;
  publish(&at(index).key, made.key);
  return 0;
}

int Directory::reserve(Key key, std::size_t bytes, std::uint64_t* offset) {
  const platform::MutexLock held(mutex_);
  return take_block(key, bytes, offset);
}

int Directory::release(Key key, Descriptor* released) {
  const platform::MutexLock held(mutex_);
  const bool had_blocks = give_back_blocks(key);
  const std::size_t index = index_of(key);
  const bool is_home = index < entries_.size() && at(index).key == key;
  if (!is_home) return had_blocks ? 0 : DDSS_ENOKEY;
  *released = at(index);
  publish(&at(index).key, 0);
  entries_[index].is_taken = false;
  // An entry that has used all serials is not used again, because no key is given twice.
  if (entries_[index].serial != UINT32_MAX) free_entries_.push_back(index);
  return 0;
}

int Directory::store(const Descriptor& what, std::uint64_t offset,
                     std::span<const std::byte> from) {
  const platform::MutexLock held(mutex_);
  const auto [begin, end] = blocks_.equal_range(what.key);
  const bool is_here =
      std::any_of(begin, end, [&](const auto& block) { return block.second == what.data_offset; });
  if (!is_here) return DDSS_ENOKEY;
  BlockHeader& header = header_at(what.data_offset);
  const std::span<std::byte> data(pool_.data() + what.data_offset + sizeof header,
                                  heap_.size_of(what.data_offset) - sizeof header);
  if (data_bytes(what) > data.size()) return DDSS_EARGUMENT;
  if (offset > what.size || from.size() > what.size - offset) return DDSS_ERANGE;
  if (what.model == DDSS_DELTA) {
    store_slot(what, header, data, from);
    return 0;
  }
  const bool is_counted = what.model == DDSS_VERSION;
  if (is_counted) std::atomic_ref(header.started).fetch_add(1);
  if (!from.empty()) std::memcpy(data.data() + offset, from.data(), from.size());
  if (is_counted) std::atomic_ref(header.version).fetch_add(1);
  return 0;
}

void Directory::store_slot(const Descriptor& what, BlockHeader& header, std::span<std::byte> data,
                           std::span<const std::byte> from) {
  const std::uint64_t version =
      std::atomic_ref(header.version).fetch_add(1) + 1 - version_base(what.key);
  std::byte* at = data.data() + version % slots_of(what) * slot_bytes(what.size);
  auto& slot = *reinterpret_cast<SlotHeader*>(at);
  std::atomic_ref(slot.version).store(0);
  slot.nbytes = from.size();
  if (!from.empty()) std::memcpy(at + sizeof slot, from.data(), from.size());
  std::atomic_ref(slot.version).store(version);
}

}  // namespace iw::ddss
