#include "fabric/regions.h"

#include "fabric/words.h"

namespace iw::fabric {
namespace {

constexpr std::size_t regions_max = 1 << 20;

}  // namespace

std::optional<RegionName> Regions::add(std::span<std::byte> bytes) {
  const platform::MutexLock held(mutex_);
  if (regions_.size() >= regions_max) return std::nullopt;
  const RegionName name{next_number_++, secrets_.next()};
  regions_[name.number] = {name.secret, bytes};
  return name;
}

void Regions::remove(const RegionName& name) {
  const platform::MutexLock held(mutex_);
  regions_.erase(name.number);
}

std::byte* Regions::find(const RegionName& name, std::uint64_t offset, std::size_t bytes) const {
  const auto found = regions_.find(name.number);
  if (found == regions_.end() || found->second.secret != name.secret) return nullptr;
  const std::span<std::byte> all = found->second.bytes;
  if (offset > all.size() || bytes > all.size() - offset) return nullptr;
  return all.data() + offset;
}

std::byte* Regions::find_word(const RegionName& name, std::uint64_t offset) const {
  std::byte* const at = find(name, offset, sizeof(std::uint64_t));
  return at != nullptr && is_word_aligned(at) ? at : nullptr;
}

Status Regions::put(const RegionName& name, std::uint64_t offset, Bytes from) {
  const platform::MutexLock held(mutex_);
  std::byte* const at = find(name, offset, from.size());
  if (at == nullptr) return Status::bad_argument;
  store(at, from);
  return Status::ok;
}

Status Regions::get(const RegionName& name, std::uint64_t offset, std::span<std::byte> to) {
  const platform::MutexLock held(mutex_);
  std::byte* const at = find(name, offset, to.size());
  if (at == nullptr) return Status::bad_argument;
  load(at, to);
  return Status::ok;
}

Status Regions::fetch_add(const RegionName& name, std::uint64_t offset, std::uint64_t add,
                          std::uint64_t* before) {
  const platform::MutexLock held(mutex_);
  std::byte* const at = find_word(name, offset);
  if (at == nullptr) return Status::bad_argument;
  *before = word_at(at).fetch_add(add);
  return Status::ok;
}

Status Regions::compare_swap(const RegionName& name, std::uint64_t offset, std::uint64_t expected,
                             std::uint64_t desired, std::uint64_t* before) {
  const platform::MutexLock held(mutex_);
  std::byte* const at = find_word(name, offset);
  if (at == nullptr) return Status::bad_argument;
  *before = expected;
  word_at(at).compare_exchange_strong(*before, desired);
  return Status::ok;
}

}  // namespace iw::fabric
