// The heap of one segment: its cached copy in this process's memory, and the place of each block.
//
// Memory comes in subsegments: one track::Area each, grown on demand, at addresses derived from the
// URL if these are free. All metadata lies outside of them. Where nothing was freed, blocks lie in
// the order of their creation. They are aligned to at least 16 bytes, never move and never span two
// subsegments. There is at least one byte between blocks, so one past the end is never in another
// block.
//
// Invariants:
//   - Memory that belongs to no block is zero in the view and in the pristine copy. A new block is
//     therefore all zeros [DIFF-3], and its changes are its bytes that are not zero.
//   - A writer section (begin_write to commit_write or rollback_write) notes all changes. A freed
//     block keeps its space and bytes until the commit; a created block vanishes at the rollback
//     [COPY-3]. A serial that was given out is never given out again [LOCK-6].
//
// Threads: any thread may call lookups, iteration and reserve() at any time. Only the thread that
// holds the segment's mutex may call the other functions. REQUIRES: no thread is in a call when the
// heap is destroyed. Functions that return a Result may throw std::bad_alloc, unless they take no
// memory. In a forked child only lookups may be called, and they find nothing; all other functions
// return FORKED.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/block.h"
#include "memory/trail.h"
#include "platform/byte_range.h"
#include "runs/runs.h"
#include "track/tracker.h"
#include "types/mip.h"
#include "types/result.h"

namespace iw::memory {

using platform::ByteRange;
using types::Result;

class Subsegment;  // memory/subsegment.h
struct HeapState;  // memory/heap_state.h

inline constexpr std::uint64_t kMaxSerial = (std::uint64_t{1} << 48) - 1;
// The most address space a segment reserves (address_space.h): 64 GiB on 64-bit machines.
inline constexpr std::size_t kReservationBytes =
    static_cast<std::size_t>(sizeof(void*) == 8 ? std::uint64_t{64} << 30 : 0);

struct HeapOptions {
  types::Url url;
  bool read_only = false;                              // no second copy
  track::Tracker* tracker = nullptr;                   // null: track::recommended()
  std::size_t reservation_bytes = kReservationBytes;   // 0: each subsegment anywhere
  std::uint64_t limit_bytes = std::uint64_t{1} << 46;  // of all blocks together; beyond: NO_MEMORY
};

struct SerialRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

// Pages, or changed runs, of one subsegment; offsets from its beginning.
struct SubsegmentPages {
  Subsegment* subsegment = nullptr;
  std::vector<ByteRange> pages;
};
struct SubsegmentRuns {
  Subsegment* subsegment = nullptr;
  std::vector<runs::Run> runs;
};

// A changed piece of a block: bytes [offset_bytes, offset_bytes + length_bytes) of it.
struct BlockPart {
  Block block;
  std::size_t offset_bytes = 0;
  std::size_t length_bytes = 0;
  // The same memory: what the application sees, and the last version.
  const std::byte* view = nullptr;
  const std::byte* pristine = nullptr;
};

// What comes behind a part in its subsegment; offsets are from the subsegment's beginning.
struct RunsBehind {
  std::size_t block_offset_bytes = 0;  // of the part's block
  std::span<const runs::Run> runs;     // none if the part is not the end of its run
};

struct Usage {
  std::uint64_t blocks = 0;          // reserved ones included
  std::uint64_t native_bytes = 0;    // of blocks
  std::uint64_t overhead_bytes = 0;  // records, indexes, names, maps of subsegments
  std::uint64_t subsegments = 0;
  std::uint64_t capacity_bytes = 0;  // of subsegments; takes memory only where touched
};

class Heap {
 public:
  static Result create(const HeapOptions& options, std::unique_ptr<Heap>& out);
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  [[nodiscard]] std::uint64_t number() const;  // unique in the process, never given again
  [[nodiscard]] const types::Url& url() const;
  [[nodiscard]] bool is_read_only() const;

  // Lookups. A block freed in this writer section is not found.
  bool find(std::uint64_t serial, Block& out) const;
  bool find(std::string_view name, Block& out) const;
  bool find_at(const void* address, Block& out) const;            // one past the end included
  [[nodiscard]] std::string name_of(std::uint64_t serial) const;  // "" if it has none
  bool find(std::uint64_t serial, Trail& trail, Block& out) const;
  // A row of serials, as many blocks as serials; a block's serial is 0 if it was not found.
  void find(std::span<const std::uint64_t> serials, Trail& trail, Block* out) const;

  // Iteration: the first block after the given serial or address (0, null: from the beginning).
  bool next_by_serial(std::uint64_t after, Block& out) const;
  bool next_by_address(const void* after, Block& out) const;

  // Keeps the memory that the address lies in readable until unpin(), even if its block is freed;
  // the bytes then mean nothing. Returns null if the address is not in this heap. Any thread may
  // call this.
  Subsegment* pin(const void* address);
  void unpin(Subsegment* pinned);

  // Reserves space without data. A later insert() of the same serial fills it without moving it. If
  // the block exists already, reserved or not, returns its address, provided type and count agree.
  Result reserve(std::uint64_t serial, const types::Type& type, std::uint64_t count,
                 std::string_view name, Block& out);

  // ---- a writer section --------------------------------------------------------------------

  // Begins a writer section: stores to the view are allowed. `serials`: those of the grant.
  Result begin_write(std::span<const SerialRange> serials);
  // Likewise, with the serials that the last section left.
  Result continue_write();
  [[nodiscard]] bool is_writing() const;
  // Adds a range to this section; its serials are above all that the section has.
  Result add_serials(const SerialRange& range);
  [[nodiscard]] bool has_serials() const;
  Result allocate(const types::Type& type, std::uint64_t count, std::string_view name,
                  bool is_owned, Block& out);
  Result free(std::uint64_t serial);

  // The section's blocks so far. Created: in order of allocation, without those that were freed
  // again. Freed: blocks that existed before, in order of freeing, still readable.
  [[nodiscard]] std::vector<Block> created() const;
  [[nodiscard]] std::vector<Block> freed() const;

  // Lists the pages stored to. In a section: those since its beginning; stores are then no longer
  // allowed. Outside of a section (at an acquire): those stored to without a lock since the last
  // call. `out` is replaced, and is valid until a block is freed. After a failure in a section, the
  // next call lists the same pages again; after a failure outside of one, call undo_all().
  Result collect(std::vector<SubsegmentPages>& out);

  // Allows stores again, after a collect() that did not lead to a commit.
  Result resume_write();

  // The words of these pages that differ from the pristine copy, small gaps filled. `out` is
  // replaced and its memory used again. Subsegments without changes are left out.
  Result changed_runs(std::span<const SubsegmentPages> pages, std::vector<SubsegmentRuns>& out,
                      runs::Splicing splicing = runs::Splicing::on) const;

  // Calls f(const BlockPart&) for the parts of runs that lie in blocks, in order of address; blocks
  // freed in this section and the space between blocks are left out.
  template <typename F>
  void for_each_part(std::span<const SubsegmentRuns> changed, F&& f) const {
    Trail trail;
    for_each_part(changed, trail, [&](const BlockPart& part, const RunsBehind&) {
      f(part);
      return std::size_t{0};
    });
  }
  // As above, for a caller that has a faster way for many runs in one block. f(part, behind)
  // returns how many of the runs behind the part it has taken; those runs lie whole in the part's
  // block.
  template <typename F>
  void for_each_part(std::span<const SubsegmentRuns> changed, Trail& trail, F&& f) const {
    BlockPart part;
    for (const SubsegmentRuns& one : changed) {
      const std::span all(one.runs);
      for (std::size_t i = 0; i < all.size(); ++i) {
        std::size_t from = all[i].offset_bytes;
        const std::size_t end = from + all[i].length_bytes;
        while (from < end && (goes_on(*one.subsegment, from, end, part) ||
                              next_part(*one.subsegment, from, end, trail, part))) {
          RunsBehind behind{from - part.length_bytes - part.offset_bytes, {}};
          if (from == end) behind.runs = all.subspan(i + 1);
          i += f(std::as_const(part), std::as_const(behind));
        }
      }
    }
  }

  // commit_write and rollback_write end the section whatever they return, and take no memory.
  // Unless the result is OK, the copy's bytes are not those of any version.
  //
  // Commits after the acknowledgement: the pristine copy takes these runs, created blocks stay, and
  // freed blocks give their space back. Words stored to between blocks are undone.
  Result commit_write(std::span<const SubsegmentRuns> sent);
  // Undoes the section: the heap and its bytes are as at begin_write.
  Result rollback_write();

  // Undo stores made outside a lock: those that collect() listed, or all of them. Neither takes
  // memory.
  Result undo(std::span<const SubsegmentPages> pages);
  Result undo_all();

  // ---- what arrives (no writer section, no reader) ------------------------------------------

  // A block of an incoming diff: created, all zeros, or the reserved one given its data.
  Result insert(std::uint64_t serial, const types::Type& type, std::uint64_t count,
                std::string_view name, bool is_owned, Block& out);
  Result erase(std::uint64_t serial);
  // Where to write bytes of a block, once, until apply_done(). Pointers written are view addresses.
  std::byte* begin_apply(const Block& block, std::size_t offset_bytes, std::size_t size_bytes);
  // The same with bytes that are ready. False: the block has no memory.
  [[nodiscard]] bool apply(const Block& block, std::size_t offset_bytes,
                           std::span<const std::byte> bytes);
  Result apply_done();

  // Begins a complete copy: every block becomes doubtful, and is not found until it is inserted
  // again. An inserted block keeps its place if type and count agree, and is all zeros.
  // end_full_copy() erases the blocks that are still doubtful; call it before any data is written.
  // After a failure, begin again. keeps_place(): insert() would not move the block.
  Result begin_full_copy();
  [[nodiscard]] bool keeps_place(std::uint64_t serial, const types::Type& type,
                                 std::uint64_t count) const;
  Result end_full_copy();

  // For IW_LOG=locks; also for subsegments made later.
  Result set_access(track::Access access);

  [[nodiscard]] Usage usage() const;

 private:
  explicit Heap(std::unique_ptr<HeapState> state);
  // Where bytes of a block arrive. Null: the block has no such bytes, or the process was forked.
  Subsegment* applied_to(const Block& block, std::size_t offset_bytes, std::size_t size_bytes);
  // Finds the first part of [from, end) in a block and moves `from` behind it. False: none is left.
  bool next_part(Subsegment& subsegment, std::size_t& from, std::size_t end, Trail& trail,
                 BlockPart& out) const;
  // As next_part, without a look-up, if [from, end) begins in the block of the previous part.
  static bool goes_on(const Subsegment& subsegment, std::size_t& from, std::size_t end,
                      BlockPart& part);
  // The first one behind it in order of address; null: the first of all, and the end. Only the
  // segment's own thread ends one.
  [[nodiscard]] Subsegment* next_subsegment(const Subsegment* behind) const;
  Result collect_into(std::vector<SubsegmentPages>& all, std::vector<SubsegmentPages>& out);
  Result undo_section();
  Result commit_runs(const SubsegmentRuns& sent);
  [[nodiscard]] Block freed_block(std::uint64_t serial) const;
  Result zero(const Block& block);
  Result zero_unless_alone(const Block& block);
  [[nodiscard]] bool has_own_subsegment(const Block& block) const;
  Result fill_known(const Block& known, const types::Type& type, std::string_view name,
                    bool is_owned);
  void release(std::span<const Block> blocks);

  std::unique_ptr<HeapState> state_;
};

}  // namespace iw::memory
