#include "sharing/shared_lattice.h"

#include <algorithm>
#include <string>

#include "sharing/lattice_reading.h"
#include "sharing/lattice_segment.h"

namespace mining {
namespace {

// A store of what is there already would not travel, but its page would be looked at.
template <typename T>
void set(T& place, T value) {
  if (place != value) place = value;
}

static_assert(PATTERN_LARGEST_ITEM == kLargestItem);

// Room for a lattice that grows: what is not used yet is zeros, which do not travel.
std::size_t with_reserve(std::size_t rows) { return rows + rows / 2 + 64; }

void check_that_it_can_be_replaced(const iw::Segment& segment) {
  if (IW_next_block(segment.handle(), nullptr) == nullptr) return;
  if (find_lattice(segment) == nullptr) {
    throw NotOurs("it holds something else than a lattice; choose another path");
  }
}

std::uint64_t serial_of(const iw::Segment& segment, const lattice_t* lattice) {
  return description_of(segment, lattice).serial;
}

}  // namespace

void SharedLattice::check_segment() const {
  const iw::ReadLock lock(segment_);
  check_that_it_can_be_replaced(segment_);
}

void SharedLattice::publish(const Miner& miner, const Changes& changes, unsigned step,
                            bool finished) {
  iw::WriteLock lock(segment_);
  if (lattice_ == nullptr) {
    replace_lattice();
  } else {
    check_that_it_is_ours();
  }
  make_room(miner.rows());
  // What goes comes first, since its rows may have been given to what comes.
  for (const auto& sequence : changes.removed) {
    unlink(block_of(*sequence));
    free_all(*sequence);
  }
  for (const FrequentSequence* sequence : changes.added) add(*sequence);
  store_supports(miner.root());
  set(lattice_->sequences, static_cast<unsigned>(miner.sequences()));
  set(lattice_->minimum, miner.minimum());
  set(lattice_->customers, static_cast<unsigned>(miner.customers()));
  set(lattice_->transactions, static_cast<unsigned>(miner.transactions()));
  set(lattice_->step, step);
  set(lattice_->finished, IW_bool_t{finished});
  lock.release();
}

void SharedLattice::replace_lattice() {
  check_that_it_can_be_replaced(segment_);
  while (void* block = IW_next_block(segment_.handle(), nullptr)) segment_.free(block);
  lattice_ = iw::make<lattice_t>(segment_, kLatticeName);
  serial_ = serial_of(segment_, lattice_);
  lattice_->root = iw::make<pattern_t>(segment_);
}

// Another builder's first step frees all that the pointers here lead to.
void SharedLattice::check_that_it_is_ours() const {
  const lattice_t* const found = find_lattice(segment_);
  if (found == nullptr || serial_of(segment_, found) != serial_) {
    throw NotOurs(
        "another builder has replaced the lattice; choose another segment for one builder");
  }
}

void SharedLattice::make_room(std::size_t rows) {
  if (rows <= lattice_->rows) return;
  const std::size_t room = with_reserve(rows);
  auto* const base = iw::make<unsigned>(segment_, {}, room);
  auto* const gain = iw::make<unsigned char>(segment_, {}, room);
  if (lattice_->rows != 0) {
    std::copy_n(lattice_->support_base, lattice_->rows, base);
    std::copy_n(lattice_->support_gain, lattice_->rows, gain);
    segment_.free(lattice_->support_base);
    segment_.free(lattice_->support_gain);
  }
  lattice_->support_base = base;
  lattice_->support_gain = gain;
  lattice_->rows = static_cast<unsigned>(room);
  blocks_.resize(room);
}

pattern_t* SharedLattice::block_of(const FrequentSequence& sequence) const {
  return sequence.length == 0 ? lattice_->root : blocks_[sequence.row];
}

void SharedLattice::add(const FrequentSequence& sequence) {
  auto* const block = iw::make<pattern_t>(segment_);
  blocks_[sequence.row] = block;
  block->extends = block_of(*sequence.prefix);
  block->row = sequence.row;
  block->item = as_stored(sequence.last);
  const std::string between = sequence.length == 1 ? "" : sequence.last.with_last ? "+" : " ";
  const std::string text = block->extends->text + (between + std::to_string(sequence.last.item));
  text.copy(block->text, PATTERN_TEXT_MAX);  // the block is zeros, so the text ends
  // In front: of all that come to one sequence, only its own block tells.
  block->next = block->extends->extended_by;
  block->extends->extended_by = block;
  lattice_->support_base[sequence.row] = sequence.support;
  lattice_->support_gain[sequence.row] = 0;
}

void SharedLattice::unlink(pattern_t* block) {
  pattern_t** place = &block->extends->extended_by;
  while (*place != block) place = &(*place)->next;
  *place = block->next;
}

void SharedLattice::free_all(const FrequentSequence& sequence) {
  segment_.free(blocks_[sequence.row]);
  for (const auto& [extension, child] : sequence.extensions) free_all(*child);
}

void SharedLattice::store_supports(const FrequentSequence& sequence) {
  for (const auto& [extension, child] : sequence.extensions) {
    unsigned& base = lattice_->support_base[child->row];
    if (child->support - base > UINT8_MAX) base = child->support;
    set(lattice_->support_gain[child->row], static_cast<unsigned char>(child->support - base));
    store_supports(*child);
  }
}

}  // namespace mining
