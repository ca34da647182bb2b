// The segment as its builder sees it: the miner's tree of sequences as blocks that point to each
// other. Each publish() is one version; only what is different is stored to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <interweave.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "lattice.hpp"
#include "miner/miner.h"

namespace mining {

// The segment holds something else, or another builder's lattice by now.
struct NotOurs : std::runtime_error {
  using runtime_error::runtime_error;
};

class SharedLattice {
 public:
  // Failures of the library are exceptions here and below (iw::Error), as is a segment that is not
  // ours (NotOurs). After one the segment is as before the call, and this object of no use any
  // more.
  explicit SharedLattice(iw::Segment segment) : segment_(std::move(segment)) {}

  // Throws NotOurs if the segment holds something else than a lattice, as publish() would.
  void check_segment() const;

  // `changes` since the last call; `step` is what readers are told. The first call replaces a
  // lattice that was left in the segment: readers see the one or the other.
  void publish(const Miner& miner, const Changes& changes, unsigned step, bool finished);

  const iw::Segment& segment() const { return segment_; }
  const lattice_t& lattice() const { return *lattice_; }  // under a lock

 private:
  void replace_lattice();
  void check_that_it_is_ours() const;
  void make_room(std::size_t rows);
  void add(const FrequentSequence& sequence);
  void free_all(const FrequentSequence& sequence);
  void unlink(pattern_t* block);
  void store_supports(const FrequentSequence& sequence);
  pattern_t* block_of(const FrequentSequence& sequence) const;

  iw::Segment segment_;
  lattice_t* lattice_ = nullptr;
  std::uint64_t serial_ = 0;        // the lattice's; never another block's
  std::vector<pattern_t*> blocks_;  // by row
};

}  // namespace mining
