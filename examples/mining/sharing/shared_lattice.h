// The segment as its builder sees it: the miner's tree of sequences as blocks that point to each
// other. Each publish() is one version; only what is different is stored to.
#pragma once

#include <cstddef>
#include <interweave.hpp>
#include <string>
#include <vector>

#include "lattice.hpp"
#include "miner/miner.h"

namespace mining {

class SharedLattice {
 public:
  // Failures of the library are exceptions here and below (iw::Error). After one the segment is as
  // before the call, and this object of no use any more.
  explicit SharedLattice(iw::Segment segment) : segment_(std::move(segment)) {}

  // Frees a lattice that was left in the segment. False: the segment holds something else.
  bool clear();

  // `changes` since the last call; `step` is what readers are told.
  void publish(const Miner& miner, const Changes& changes, unsigned step, bool finished);

  const iw::Segment& segment() const { return segment_; }
  const lattice_t& lattice() const { return *lattice_; }  // under a lock

 private:
  void make_lattice();
  void make_room(std::size_t rows);
  void add(const FrequentSequence& sequence);
  void free_all(const FrequentSequence& sequence);
  void unlink(pattern_t* block);
  void store_supports(const FrequentSequence& sequence);
  pattern_t* block_of(const FrequentSequence& sequence) const;

  iw::Segment segment_;
  lattice_t* lattice_ = nullptr;
  std::vector<pattern_t*> blocks_;  // by row
};

}  // namespace mining
