// An open segment: get and put of the seven models, over one-sided access [DDSS-MODEL-1..8].
//
// - NULL, READ, WRITE, STRICT: access to the data. A get under READ and STRICT, and a put under
//   WRITE and STRICT, takes the lock, unless the thread holds it.
// - VERSION: a put counts `started`, writes, and counts `version`. A get reads the header before
// and
//   after the data, to see that no put was under way and none began.
// - DELTA: a put takes the next version by counting, and writes to the version's slot in a ring.
// The
//   slot's header names its version, or 0 during the put. At most `keep` + 1 puts run at once.
// - TEMPORAL: a get reads a copy of the whole segment that was fetched less than temporal_ms ago.
//
// A get looks at the block's key word afterwards, a put before. Where the other node's processor
// must help anyway, a put is one message, and the other node does all the rest.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "ddss/lock.h"
#include "platform/mutex.h"

namespace iw::ddss {

class Segment {
 public:
  Segment(Neighbours& neighbours, const Descriptor& descriptor, const NodeLink& data,
          const NodeLink& lock_link);
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  const Descriptor& descriptor() const { return descriptor_; }
  Lock& lock() { return lock_; }
  int check_key() const;
  bool is_onesided() const { return is_onesided_; }
  Survey survey();

  int get(std::size_t offset, std::span<std::byte> to, Which which, std::uint64_t* version);
  int put(std::size_t offset, std::span<const std::byte> from);
  int change(std::size_t offset, const Atomic& what, std::uint64_t* before);
  int barrier(int count);
  int newest_version(std::uint64_t* version);

  // Whether a get (put) is only access to the data, which the transport can finish alone.
  bool is_plain_get() const;
  bool is_plain_put() const;
  // Whether a put is only one message to the node with the data, so that starting it never waits.
  bool can_put_be_sent(std::size_t bytes) const;
  const NodeLink& data() const { return data_; }
  std::size_t data_offset() const { return descriptor_.data_offset + sizeof(BlockHeader); }

 private:
  int get_plain(std::size_t offset, std::span<std::byte> to);
  int put_plain(std::size_t offset, std::span<const std::byte> from);
  int get_versioned(std::size_t offset, std::span<std::byte> to, Which which,
                    std::uint64_t* version);
  int change_word(std::size_t offset, const Atomic& what, std::uint64_t* before);
  int await_count(std::uint64_t count);
  int put_versioned(std::size_t offset, std::span<const std::byte> from);
  int get_slot(std::span<std::byte> to, Which which, std::uint64_t* version);
  int put_slot(std::span<const std::byte> from);
  int read_slot(std::uint64_t version, std::span<std::byte> to);
  int read_version(std::uint64_t* version);
  int read_begun(std::uint64_t* puts);
  int newest_slot(std::uint64_t* version);
  int get_copy(std::size_t offset, std::span<std::byte> to);
  int under_lock(const std::function<int()>& access);
  int pause(Patience* patience);
  std::size_t slot_at(std::uint64_t version) const;
  static int look_before_repair(void* segment, std::uint64_t* begun);
  static int repair(void* segment, std::uint64_t begun, const Survey& found);

  Neighbours& neighbours_;
  const Descriptor descriptor_;
  const NodeLink data_;
  const bool is_onesided_;
  const bool is_counting_onesided_;  // if not, a put of a new version needs the other node
  Lock lock_;
  std::atomic<std::uint32_t> puts_in_flight_{0};

  platform::Mutex copy_mutex_;
  std::vector<std::byte> copy_ IW_GUARDED_BY(copy_mutex_);
  fabric::Clock::time_point copied_ IW_GUARDED_BY(copy_mutex_){};
  bool has_copy_ IW_GUARDED_BY(copy_mutex_) = false;
};

}  // namespace iw::ddss
