#include "ddss/segment.h"

#include <algorithm>
#include <cstring>

namespace iw::ddss {
namespace {

constexpr std::size_t version_at = offsetof(BlockHeader, version);
constexpr std::size_t started_at = offsetof(BlockHeader, started);

// Whether a put is short enough to be sent as one message where the other node must help. The
// fabric would send two to five messages instead (over TCP, for a few bytes, 39 to 100 us instead
// of 19). A longer put would cost more to copy than the messages that it spares.
bool is_short(std::span<const std::byte> put) {
  constexpr std::size_t sent_max = 512 << 10;
  static_assert(sent_max <= fabric::payload_bytes_max);
  return put.size() <= sent_max;
}

}  // namespace

Segment::Segment(Neighbours& neighbours, const Descriptor& descriptor, const NodeLink& data,
                 const NodeLink& lock_link)
    : neighbours_(neighbours),
      descriptor_(descriptor),
      data_(data),
      is_onesided_(data.worker->is_onesided(fabric::Operation::put, *data.window) &&
                   data.worker->is_onesided(fabric::Operation::get, *data.window)),
      is_counting_onesided_(data.worker->is_onesided(fabric::Operation::fetch_add, *data.window)),
      lock_(neighbours, descriptor.key, lock_link,
            descriptor.lock_offset + offsetof(BlockHeader, lock)) {
  lock_.on_recovery({this, &Segment::look_before_repair, &Segment::repair});
}

int Segment::check_key() const {
  Key key = 0;
  const int error = data_.get(descriptor_.data_offset, &key);
  if (error != 0) return error;
  return key == descriptor_.key ? 0 : DDSS_ENOKEY;
}

Survey Segment::survey() {
  Survey found = lock_.survey();
  found.puts = puts_in_flight_.load();
  return found;
}

bool Segment::is_plain_get() const {
  return descriptor_.model == DDSS_NULL || descriptor_.model == DDSS_WRITE;
}
bool Segment::is_plain_put() const {
  return descriptor_.model == DDSS_NULL || descriptor_.model == DDSS_READ;
}

bool Segment::can_put_be_sent(std::size_t bytes) const {
  const bool is_counted = descriptor_.model == DDSS_VERSION || descriptor_.model == DDSS_DELTA;
  const bool needs_help =
      (is_plain_put() && !is_onesided_) || (is_counted && !is_counting_onesided_);
  return needs_help && bytes <= fabric::payload_bytes_max;
}

int Segment::get(std::size_t offset, std::span<std::byte> to, Which which, std::uint64_t* version) {
  const std::size_t size = descriptor_.size;
  if (offset > size || to.size() > size - offset) return DDSS_ERANGE;
  const bool is_versioned = descriptor_.model == DDSS_VERSION || descriptor_.model == DDSS_DELTA;
  if (which != Which::current && !is_versioned) return DDSS_EMODEL;
  switch (descriptor_.model) {
    case DDSS_READ:
    case DDSS_STRICT:
      return under_lock([&] { return get_plain(offset, to); });
    case DDSS_VERSION:
      if (which == Which::exactly) return DDSS_EMODEL;
      return get_versioned(offset, to, which, version);
    case DDSS_DELTA:
      return offset == 0 ? get_slot(to, which, version) : DDSS_EMODEL;
    case DDSS_TEMPORAL:
      return get_copy(offset, to);
    default:
      return get_plain(offset, to);
  }
}

int Segment::put(std::size_t offset, std::span<const std::byte> from) {
  const std::size_t size = descriptor_.size;
  if (offset > size || from.size() > size - offset) return DDSS_ERANGE;
  switch (descriptor_.model) {
    case DDSS_WRITE:
    case DDSS_STRICT:
      return under_lock([&] { return put_plain(offset, from); });
    case DDSS_VERSION:
      return put_versioned(offset, from);
    case DDSS_DELTA:
      return offset == 0 ? put_slot(from) : DDSS_EMODEL;
    case DDSS_TEMPORAL: {
      const platform::MutexLock held(copy_mutex_);  // so that no earlier fetch is kept
      has_copy_ = false;
      return put_plain(offset, from);
    }
    default:
      return put_plain(offset, from);
  }
}

int Segment::under_lock(const std::function<int()>& access) {
  if (lock_.is_held_here()) return access();
  int error = lock_.acquire(Hold::exclusive);
  if (error != 0) return error;
  error = access();
  const int released = lock_.release();
  return error != 0 ? error : released;
}

// Gets the header together with the data, where that spares a second answer and costs less to copy
// than to wait for.
int Segment::get_plain(std::size_t offset, std::span<std::byte> to) {
  constexpr std::size_t with_header_max = 64 << 10;
  if (data_.window->direct() == nullptr && offset == 0 && to.size() <= with_header_max) {
    const std::size_t bytes = sizeof(BlockHeader) + to.size();
    const auto block = std::make_unique_for_overwrite<std::byte[]>(bytes);
    const int error = data_.get(descriptor_.data_offset, std::span(block.get(), bytes));
    if (error != 0) return error;
    Key key = 0;
    std::memcpy(&key, block.get() + offsetof(BlockHeader, key), sizeof key);
    std::copy_n(block.get() + sizeof(BlockHeader), to.size(), to.begin());
    return key == descriptor_.key ? 0 : DDSS_ENOKEY;
  }
  const int error = data_.get(data_offset() + offset, to);
  return error != 0 ? error : check_key();
}

int Segment::put_plain(std::size_t offset, std::span<const std::byte> from) {
  if (!is_onesided_ && is_short(from)) return neighbours_.store(descriptor_, offset, from);
  const int error = check_key();
  return error != 0 ? error : data_.put(data_offset() + offset, from);
}

// A put of a node that died is never done, so a thread that waits for the put recovers the lock
// [DDSS-MODEL-8].
int Segment::pause(Patience* patience) {
  const int error = patience->pause();
  if (error != 0 || !patience->is_long()) return error;
  lock_.recover_if_needed();
  return 0;
}

int Segment::get_versioned(std::size_t offset, std::span<std::byte> to, Which which,
                           std::uint64_t* version) {
  if (which == Which::if_newer) {
    std::uint64_t now = 0;
    const int error = read_version(&now);
    if (error != 0 || now == *version) return error != 0 ? error : DDSS_UNCHANGED;
  }
  Patience patience(data_);
  for (;;) {
    BlockHeader before, after;
    int error = data_.get(descriptor_.data_offset, &before);
    if (error != 0) return error;
    if (before.key != descriptor_.key) return DDSS_ENOKEY;
    const bool is_quiet = before.started == before.version;
    if (is_quiet) error = data_.get(data_offset() + offset, to);
    if (error == 0 && is_quiet) error = data_.get(descriptor_.data_offset, &after);
    if (error != 0) return error;
    if (is_quiet && after.started == before.started) {
      if (version != nullptr) *version = before.version - version_base(descriptor_.key);
      return after.key == descriptor_.key ? 0 : DDSS_ENOKEY;
    }
    if ((error = pause(&patience)) != 0) return error;
  }
}

int Segment::put_versioned(std::size_t offset, std::span<const std::byte> from) {
  if (!is_counting_onesided_ && is_short(from)) return neighbours_.store(descriptor_, offset, from);
  puts_in_flight_.fetch_add(1);
  int error = check_key();
  std::uint64_t before = 0;
  if (error == 0) error = data_.add(descriptor_.data_offset + started_at, 1, &before);
  if (error == 0) {
    error = data_.put(data_offset() + offset, from);
    const int counted = data_.add(descriptor_.data_offset + version_at, 1, &before);
    if (error == 0) error = counted;
  }
  puts_in_flight_.fetch_sub(1);
  return error;
}

int Segment::look_before_repair(void* segment, std::uint64_t* begun) {
  auto& self = *static_cast<Segment*>(segment);
  return self.data_.get(self.descriptor_.data_offset + started_at, begun);
}

// If no node has a put under way, a put that began before the nodes were asked and is not done will
// never be done. A put that began since may be under way.
int Segment::repair(void* segment, std::uint64_t begun, const Survey& found) {
  auto& self = *static_cast<Segment*>(segment);
  if (self.descriptor_.model != DDSS_VERSION) return 0;
  if (found.puts != 0) return DDSS_EBUSY;
  BlockHeader header;
  int error = self.data_.get(self.descriptor_.data_offset, &header);
  if (error == 0 && header.started != begun) return DDSS_EBUSY;
  std::uint64_t before = 0;
  if (error == 0 && header.started > header.version) {
    error = self.data_.swap(self.descriptor_.data_offset + version_at, header.version,
                            header.started, &before);
  }
  return error;
}

std::size_t Segment::slot_at(std::uint64_t version) const {
  return data_offset() + version % slots_of(descriptor_) * slot_bytes(descriptor_.size);
}

// DDSS_ENOVERSION: the slot does not have the version, not any more, or not yet.
int Segment::read_slot(std::uint64_t version, std::span<std::byte> to) {
  if (version == 0) {
    std::fill(to.begin(), to.end(), std::byte{0});
    return 0;
  }
  SlotHeader before, after;
  int error = data_.get(slot_at(version), &before);
  if (error != 0) return error;
  if (before.version != version || before.nbytes > descriptor_.size) return DDSS_ENOVERSION;
  const std::size_t nbytes = std::min<std::size_t>(to.size(), before.nbytes);
  error = data_.get(slot_at(version) + sizeof before, to.first(nbytes));
  if (error == 0) error = data_.get(slot_at(version), &after);
  if (error != 0) return error;
  std::fill(to.begin() + static_cast<std::ptrdiff_t>(nbytes), to.end(), std::byte{0});
  return after.version == version ? 0 : DDSS_ENOVERSION;
}

// If the block no longer belongs to the segment, the result is a version that was never given out
// (version_base).
int Segment::read_version(std::uint64_t* version) {
  const int error = data_.get(descriptor_.data_offset + version_at, version);
  *version -= version_base(descriptor_.key);
  return error;
}

// The number of puts that began, under DDSS_DELTA.
int Segment::read_begun(std::uint64_t* puts) {
  std::uint64_t words[2] = {};  // key and version
  const int error = data_.get(descriptor_.data_offset, &words);
  *puts = words[1] - version_base(descriptor_.key);
  return error != 0 ? error : words[0] == descriptor_.key ? 0 : DDSS_ENOKEY;
}

// The newest version that is whole.
int Segment::newest_slot(std::uint64_t* version) {
  std::uint64_t begun = 0;
  int error = read_begun(&begun);
  const std::uint64_t oldest = begun - std::min<std::uint64_t>(begun, descriptor_.keep);
  for (*version = begun; error == 0 && *version > 0 && *version >= oldest; --*version) {
    SlotHeader header;
    error = data_.get(slot_at(*version), &header);
    if (error == 0 && header.version == *version) return 0;
  }
  return error != 0 || *version == 0 ? error : DDSS_ENOVERSION;
}

int Segment::get_slot(std::span<std::byte> to, Which which, std::uint64_t* version) {
  if (which == Which::exactly) {
    std::uint64_t begun = 0;
    int error = read_begun(&begun);
    const bool is_kept = *version <= begun && begun - *version <= descriptor_.keep;
    if (error == 0) error = is_kept ? read_slot(*version, to) : DDSS_ENOVERSION;
    return error != 0 ? error : check_key();
  }
  Patience patience(data_);
  for (;;) {
    std::uint64_t newest = 0;
    int error = newest_slot(&newest);
    if (error == 0 && which == Which::if_newer && newest == *version) return DDSS_UNCHANGED;
    if (error == 0) error = read_slot(newest, to);
    if (error == 0 && version != nullptr) *version = newest;
    if (error == 0) return check_key();
    if (error == DDSS_ENOVERSION) error = pause(&patience);  // newer puts took its slot
    if (error != 0) return error;
  }
}

int Segment::put_slot(std::span<const std::byte> from) {
  if (!is_counting_onesided_ && is_short(from)) return neighbours_.store(descriptor_, 0, from);
  int error = check_key();
  std::uint64_t version = 0;
  if (error == 0) error = data_.add(descriptor_.data_offset + version_at, 1, &version);
  if (error != 0) return error;
  version += 1 - version_base(descriptor_.key);
  const std::size_t at = slot_at(version);
  error = data_.put_value(at, SlotHeader{0, from.size()});
  if (error == 0) error = data_.put(at + sizeof(SlotHeader), from);
  return error == 0 ? data_.put_value(at, version) : error;
}

int Segment::newest_version(std::uint64_t* version) {
  if (descriptor_.model == DDSS_DELTA) {
    const int error = newest_slot(version);
    return error != 0 ? error : check_key();
  }
  if (descriptor_.model != DDSS_VERSION) return DDSS_EMODEL;
  const int error = read_version(version);
  return error != 0 ? error : check_key();
}

int Segment::get_copy(std::size_t offset, std::span<std::byte> to) {
  const platform::MutexLock held(copy_mutex_);
  const auto now = fabric::Clock::now();
  const std::chrono::milliseconds bound(descriptor_.temporal_ms);
  if (!has_copy_ || now - copied_ >= bound) {
    has_copy_ = false;
    copy_.resize(descriptor_.size);
    const int error = get_plain(0, copy_);
    if (error != 0) return error;
    copied_ = now;
    has_copy_ = true;
  }
  if (!to.empty()) std::memcpy(to.data(), copy_.data() + offset, to.size());
  return 0;
}

}  // namespace iw::ddss
