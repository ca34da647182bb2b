#include "memory/block_index.h"

#include <algorithm>
#include <array>

#include "platform/invariant.h"
#include "platform/process.h"
#include "types/type.h"

namespace iw::memory {

namespace {

// The end of MurmurHash3: every bit of the number decides about every bit of the hash.
std::uint64_t mixed(std::uint64_t number) {
  number ^= number >> 33;
  number *= 0xFF51AFD7ED558CCDU;
  number ^= number >> 33;
  number *= 0xC4CEB9FE1A85EC53U;
  return number ^ (number >> 33);
}

}  // namespace

// Serials and names come from the network. Each heap has a hash seed of its own, so that nobody can
// choose serials or names that collide.
BlockIndex::BlockIndex() : name_texts_(1) {
  std::array<std::byte, sizeof seed_> random;
  if (platform::random_bytes(random).ok()) {
    for (const std::byte one : random) seed_ = seed_ << 8 | std::to_integer<std::uint64_t>(one);
  }
}

std::uint64_t BlockIndex::hash_of(std::uint64_t number) const { return mixed(number ^ seed_); }

std::uint64_t BlockIndex::hash_of(std::string_view name) const {
  std::uint64_t hash = seed_ ^ 14695981039346656037U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return mixed(hash);
}

std::uint64_t BlockIndex::address_hash(RecordId id) const {
  return hash_of(reinterpret_cast<std::uintptr_t>(at(id).address));
}
std::uint64_t BlockIndex::serial_hash(RecordId id) const { return hash_of(at(id).serial); }
std::uint64_t BlockIndex::name_hash(RecordId id) const { return hash_of(name_of(at(id))); }

void BlockIndex::add_unused(RecordId id) {
  at(id) = Record{};
  at(id).flags = flag_unused;
  at(id).type_or_next = unused_;
  unused_ = id;
  ++unused_count_;
}

void BlockIndex::prepare(const types::Type& type) {
  while (unused_count_ < 3) {
    IW_INVARIANT(chunks_.size() < no_record / chunk_records, "too many records");
    chunks_.push_back(std::make_unique<Record[]>(chunk_records));
    const auto first = static_cast<RecordId>((chunks_.size() - 1) * chunk_records);
    for (RecordId i = chunk_records; i-- > 0;) add_unused(first + i);
  }
  addresses_.prepare(3, [this](RecordId id) { return address_hash(id); });
  serials_.prepare(1, [this](RecordId id) { return serial_hash(id); });
  if (order_.size() == order_.capacity()) order_.reserve(order_.size() * 3 / 2 + chunk_records);
  number_of(type);
}

// Forgets the type if it has no blocks, because it may then be destroyed.
void BlockIndex::unprepare(const types::Type& type) {
  const auto known = type_numbers_.find(&type);
  if (known == type_numbers_.end() || types_[known->second].blocks != 0) return;
  unused_types_.push_back(known->second);
  type_numbers_.erase(known);
}

RecordId BlockIndex::add_free(std::byte* address, std::size_t size_bytes) {
  IW_INVARIANT(unused_count_ != 0, "an extent without prepare()");
  const RecordId id = unused_;
  Record& record = at(id);
  unused_ = record.type_or_next;
  --unused_count_;
  record = Record{};
  record.address = address;
  record.flags = flag_free;
  record.count = size_bytes;
  addresses_.insert(address_hash(id), id);
  return id;
}

void BlockIndex::remove(RecordId id) {
  IW_INVARIANT(at(id).is(flag_free), "a block's extent removed");
  const auto hash = [this](RecordId other) { return address_hash(other); };
  addresses_.erase(address_hash(id), id, hash);
  addresses_.shrink(hash);
  add_unused(id);
}

void BlockIndex::make_block(RecordId id, std::uint64_t serial, const types::Type& type,
                            std::uint64_t count, unsigned flags, std::uint32_t name_number) {
  Record& record = at(id);
  record.serial = serial & ((std::uint64_t{1} << 48) - 1);
  record.flags = flags & 0xFFFF;
  record.count = count;
  record.type_or_next = number_of(type);
  record.name_or_previous = name_number;
  ++types_[record.type_or_next].blocks;
  serials_.insert(serial_hash(id), id);
  relink_name(id);
  ++block_count_;
  if (!order_.empty() && order_.back() >= serial) is_sorted_ = false;
  order_.push_back(serial);
}

void BlockIndex::make_free(RecordId id, std::size_t extent_bytes) {
  Record& record = at(id);
  const auto hash = [this](RecordId other) { return serial_hash(other); };
  serials_.erase(serial_hash(id), id, hash);
  serials_.shrink(hash);
  unlink_name(id);
  forget_name(record.name_or_previous);
  drop_type(record.type_or_next);
  record.serial = 0;
  record.flags = flag_free;
  record.count = extent_bytes;
  --block_count_;
  forget_serial();
}

// Serials of blocks that are gone stay in the order until they are half of it.
void BlockIndex::forget_serial() {
  if (++gone_ <= block_count_ + chunk_records) return;
  std::erase_if(order_, [this](std::uint64_t serial) { return by_serial(serial) == no_record; });
  order_.shrink_to_fit();
  gone_ = 0;
}

void BlockIndex::sort() {
  std::sort(order_.begin(), order_.end());
  order_.erase(std::unique(order_.begin(), order_.end()), order_.end());
  gone_ = order_.size() > block_count_ ? order_.size() - block_count_ : 0;
  is_sorted_ = true;
}

RecordId BlockIndex::next_visible(std::uint64_t after_serial) const {
  auto next = std::upper_bound(order_.begin(), order_.end(), after_serial);
  for (; next != order_.end(); ++next) {
    const RecordId id = by_serial(*next);
    if (id != no_record && at(id).is_visible()) return id;
  }
  return no_record;
}

std::uint32_t BlockIndex::number_of(const types::Type& type) {
  if (auto known = type_numbers_.find(&type); known != type_numbers_.end()) return known->second;
  if (unused_types_.empty()) {
    unused_types_.reserve(2 * types_.size() + 1);  // so that giving one back never fails
    types_.push_back({});
    unused_types_.push_back(static_cast<std::uint32_t>(types_.size() - 1));
  }
  const std::uint32_t number = unused_types_.back();
  type_numbers_[&type] = number;
  types_[number] = {&type, type.size_bytes, 0};
  unused_types_.pop_back();
  return number;
}

void BlockIndex::drop_type(std::uint32_t number) {
  if (--types_[number].blocks != 0) return;
  type_numbers_.erase(types_[number].type);
  unused_types_.push_back(number);
}

void BlockIndex::set_type(RecordId id, const types::Type& type) {
  const std::uint32_t before = at(id).type_or_next;
  if (types_[before].type == &type) return;
  const std::uint32_t number = number_of(type);
  ++types_[number].blocks;
  at(id).type_or_next = number;
  drop_type(before);
}

std::string_view BlockIndex::name_of(const Record& block) const {
  return name_texts_[block.name_or_previous];
}

std::uint32_t BlockIndex::keep_name(std::string_view name) {
  if (name.empty()) return 0;
  const std::size_t kept = name_texts_.size() - unused_names_.size();
  names_.prepare_total(kept, [this](RecordId other) { return name_hash(other); });
  if (unused_names_.empty()) {
    if (unused_names_.capacity() <= name_texts_.size()) {
      unused_names_.reserve(2 * name_texts_.size());  // so that giving one back never fails
    }
    name_texts_.emplace_back(name);
    return static_cast<std::uint32_t>(name_texts_.size() - 1);
  }
  const std::uint32_t number = unused_names_.back();
  name_texts_[number] = name;
  unused_names_.pop_back();
  return number;
}

void BlockIndex::forget_name(std::uint32_t number) {
  if (number == 0) return;
  std::string().swap(name_texts_[number]);
  unused_names_.push_back(number);
}

void BlockIndex::rename(RecordId id, std::string_view name) {
  const std::uint32_t number = keep_name(name);
  unlink_name(id);
  forget_name(at(id).name_or_previous);
  at(id).name_or_previous = number;
  relink_name(id);
}

void BlockIndex::unlink_name(RecordId id) {
  const std::string_view name = name_of(at(id));
  if (name.empty() || by_name(name) != id) return;
  names_.erase(hash_of(name), id, [this](RecordId other) { return name_hash(other); });
}

// There is room, because names that are kept and not linked are counted.
void BlockIndex::relink_name(RecordId id) {
  const std::string_view name = name_of(at(id));
  if (name.empty() || by_name(name) == id) return;
  names_.insert(hash_of(name), id);
}

RecordId BlockIndex::by_serial(std::uint64_t serial) const {
  return serials_.find(hash_of(serial), [&](RecordId id) { return at(id).serial == serial; });
}

void BlockIndex::fetch(const HashIndex& index, std::span<std::uint64_t> keys) const {
  for (std::uint64_t& key : keys) {
    key = hash_of(key);
    index.fetch(key);
  }
  for (const std::uint64_t hash : keys) {
    const RecordId id = index.first(hash);
    if (id != no_record) __builtin_prefetch(&at(id));
  }
}

RecordId BlockIndex::by_name(std::string_view name) const {
  return names_.find(hash_of(name), [&](RecordId id) { return name_of(at(id)) == name; });
}

RecordId BlockIndex::by_address(const std::byte* address) const {
  return addresses_.find(hash_of(reinterpret_cast<std::uintptr_t>(address)),
                         [&](RecordId id) { return at(id).address == address; });
}

std::size_t BlockIndex::bytes() const {
  std::size_t total = chunks_.size() * chunk_records * sizeof(Record) +
                      chunks_.capacity() * sizeof(chunks_[0]) + serials_.bytes() +
                      addresses_.bytes() + names_.bytes() + order_.capacity() * sizeof(order_[0]) +
                      types_.capacity() * sizeof(TypeUse) +
                      unused_names_.capacity() * sizeof(std::uint32_t);
  for (const std::string& name : name_texts_) total += sizeof(std::string) + name.capacity();
  return total;
}

}  // namespace iw::memory
