// The body of CHANGES: the runs of each changed block. Parts of blocks come in and are cut into
// units; units that touch become one run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "diff/format.h"
#include "diff/pieces.h"
#include "diff/unit_writer.h"
#include "memory/heap.h"
#include "types/navigation.h"
#include "types/plan.h"
#include "types/result.h"

namespace iw::diff {

class BlockRuns {
 public:
  BlockRuns(Pieces& out, Statistics& statistics, swizzle::Swizzler& swizzler, bool may_send_views,
            const Options& options)
      : out_(out), statistics_(statistics), units_(out, swizzler, may_send_views, options) {}

  // Parts of a block come one after another, in the order of their offsets. `has_gaps`: splicing
  // closed gaps in the run of words that the part is of, so unchanged units may be among it.
  void add_part(const memory::BlockPart& part, bool has_gaps);
  // Returns how many of the runs behind the part just added are in its block and were taken.
  std::size_t add_runs_behind(const memory::RunsBehind& behind);
  void end_block();

  // Once it is not OK, nothing more is written.
  [[nodiscard]] const Result& error() const { return error_; }

 private:
  void begin_block(const memory::BlockPart& part);
  [[nodiscard]] types::UnitRange units_of(const memory::BlockPart& part) const;
  void add_units(types::UnitRange range);
  template <std::size_t number_bytes>
  std::size_t write_runs_of_numbers(const memory::RunsBehind& behind);
  void begin_runs();
  void write_pending();
  void fail_at_unit();

  Pieces& out_;
  Statistics& statistics_;
  UnitWriter units_;
  Result error_;

  // The block being written, and the units of it that are known to have changed but not written.
  memory::Block block_;
  const std::byte* view_ = nullptr;
  types::Step array_;
  std::size_t number_bytes_ = 0;  // of a block of plain numbers, else 0
  bool has_large_units_ = false;  // once searched for
  bool is_searched_for_large_units_ = false;
  bool has_block_ = false;
  bool block_has_runs_ = false;
  types::UnitRange pending_;
  std::uint64_t last_end_ = 0;
  std::uint64_t last_serial_ = 0;
  Pieces::Body body_;
};

}  // namespace iw::diff
