// The cached copy of one segment: its heap, types and slot table, and the diffs that go in and out.
//
// Application memory (views) is used by whoever is inside the segment's lock; every call here but
// describe() and place_of() is made by the thread that is exclusive. describe() may come from any
// thread at any time, so types, slots and the heap's blocks are guarded by a mutex of the copy's
// own; `changes_` tells an update that was checked before that it must be checked again.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "copy/changes.h"
#include "copy/optimisations.h"
#include "copy/stub_healing.h"
#include "diff/collect.h"
#include "diff/update.h"
#include "interweave/type_table.h"
#include "memory/heap.h"
#include "platform/mutex.h"
#include "swizzle/slot_table.h"
#include "types/mip.h"
#include "types/result.h"
#include "types/segment_types.h"

namespace iw::copy {

using types::Result;

// A writer's changes: the diff to send, and the runs to commit once it is acknowledged.
struct CollectedDiff {
  diff::CollectedDiff outgoing;
  std::vector<memory::SubsegmentRuns> runs;
  [[nodiscard]] bool is_empty() const { return outgoing.is_empty(); }
};

// The cost of finding the changes.
struct CollectCosts {
  std::uint64_t pages = 0;  // found written, in areas that were watched
  LookedAt looked_at;
};

// A page that was stored to without the writer lock.
struct Stray {
  std::uint64_t serial = 0;  // 0: in no block
  std::string block_name;
  const void* address = nullptr;  // of the first word that differed
};

// Makes the blocks of another segment known, by asking its server if necessary. After a failure the
// pointers become stubs.
using Describe = std::function<void(const types::Url&, std::vector<std::uint64_t> serials)>;

// Asks the server for more block serials and gives them to add_serials().
using MoreSerials = std::function<Result()>;

class Copy {
 public:
  static Result create(const types::Url& url, bool read_only, std::shared_ptr<Copy>& out);

  [[nodiscard]] memory::Heap& heap() const { return *heap_; }
  // Kept alive beyond the copy by those who translate pointers into it.
  [[nodiscard]] std::shared_ptr<memory::Heap> shared_heap() const { return heap_; }

  // ---- what arrives ----
  // `damaged` on failure: the copy is of no version and must be replaced by a complete one.
  // `must_hold_blocks`: SEGMENT_LOST, and nothing is applied, if the complete copy in `bytes` lacks
  // a block of this one or has another under its serial [LOST-2].
  // `spent` hears which of the bytes are not needed any more, as the copy takes them in.
  Result apply(std::span<const std::byte> bytes, bool must_hold_blocks, const Describe& describe,
               swizzle::Resolver& resolver, const diff::Spent& spent, bool& damaged);
  // Space for blocks that a server described (a diff without data).
  Result describe(std::span<const std::byte> bytes, swizzle::Resolver& resolver);
  // Whether pointers are stubs because a server could not be asked. Takes no mutex: a segment asks
  // under its own, and whoever translates pointers takes segments' mutexes under a copy's.
  [[nodiscard]] bool has_unreachable() const { return has_unreachable_; }
  // Asks those servers again [STUB-1].
  Result heal(const Describe& describe, swizzle::Resolver& resolver);
  // Finds stores made outside a lock and undoes them. Throws nothing; without memory they are
  // undone but not reported.
  Result undo_strays(std::vector<Stray>& strays, std::uint64_t& pages);

  // ---- a writer section ----
  Result begin_write(const memory::SerialRange& serials);
  // Another section under the same grant.
  Result continue_write();
  Result add_serials(const memory::SerialRange& range);
  [[nodiscard]] bool has_serials();
  // Refused with QUOTA if the block alone is more than a segment of that quota may hold; 0: no
  // quota.
  // The block with this name; null if the heap lacks it. TYPE_CONFLICT: it is not `count` of the
  // type.
  Result find_as(IW_type_t type, std::uint64_t count, std::string_view name, void*& out);
  Result allocate(IW_type_t type, std::uint64_t count, std::string_view name,
                  std::uint64_t quota_bytes, void*& out);
  // Frees a block. Blocks that its fields own are freed at the release.
  Result free(void* block);
  // `field`: of type `T x<>` or `string s<>`; its value becomes a copy of `count` values, or
  // zeros if `source` is null.
  Result assign(void* field, const void* source, std::uint64_t count);
  // May be called again after a release that did not succeed.
  // Owned blocks have one owner each afterwards [COPY-4]; for the copies that this may take
  // `more_serials` is called, without the copy's mutex.
  Result collect(std::uint64_t from_version, swizzle::Resolver& resolver,
                 const MoreSerials& more_serials, CollectedDiff& out, CollectCosts& costs);
  // Whether the section under way has changed anything; true if that cannot be told. No stores are
  // allowed afterwards: for a section that is about to be undone.
  bool has_changes();
  // Allows stores again, after a release that failed and left the lock.
  Result resume();
  // Both take no memory and end the section; see Heap::commit_write.
  Result commit(CollectedDiff& diff);
  Result roll_back();

 private:
  Result find_strays(std::vector<memory::SubsegmentPages>& changed_pages,
                     std::vector<Stray>& strays, std::uint64_t& pages);
  Result translate(std::uint64_t from_version, swizzle::Resolver& resolver, CollectedDiff& out)
      IW_REQUIRES(mutex_);
  explicit Copy(const types::Url& url) : slots_(url) {}
  diff::CachedCopy parts() IW_REQUIRES(mutex_) { return {*heap_, types_, slots_}; }
  void ask_for_foreign(const diff::Update& update, const Describe& describe,
                       swizzle::Resolver& resolver, UnreachableBlocks& unreachable);
  // copy_owned.cc
  bool may_have_owned_fields() IW_REQUIRES(mutex_);
  void types_replaced() IW_REQUIRES(mutex_);
  Result assign_owners(const MoreSerials& more_serials,
                       std::vector<memory::SubsegmentPages>& written,
                       std::vector<memory::SubsegmentRuns>& runs) IW_REQUIRES(mutex_);
  Result ask_for_serials(const MoreSerials& more_serials) IW_REQUIRES(mutex_);
  Result check_texts(std::span<const memory::SubsegmentRuns> changed) const IW_REQUIRES(mutex_);
  Result make_owned(const types::Type& field, const void* source, std::uint64_t count, void*& out)
      IW_REQUIRES(mutex_);

  platform::Mutex mutex_;
  // Memory for the next release's.
  std::vector<memory::SubsegmentRuns> spare_runs_ IW_GUARDED_BY(mutex_);
  // Of types, slots and blocks by describe().
  std::uint64_t changes_ IW_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<memory::Heap> heap_;  // never another; its blocks are guarded as heap.h says
  types::SegmentTypes types_ IW_GUARDED_BY(mutex_);
  std::uint32_t types_seen_ IW_GUARDED_BY(mutex_) = 0;     // by may_have_owned_fields
  bool has_owning_types_ IW_GUARDED_BY(mutex_) = false;    // among these
  bool has_char_sequences_ IW_GUARDED_BY(mutex_) = false;  // likewise
  swizzle::SlotTable slots_ IW_GUARDED_BY(mutex_);
  UnreachableBlocks unreachable_ IW_GUARDED_BY(mutex_);
  std::atomic<bool> has_unreachable_{false};  // there are some
};

}  // namespace iw::copy
