#include "callee/known_parts.h"

#include "traffic.h"

namespace stock {
namespace {

IW_block_t described(const iw::Segment& segment, const void* p) {
  IW_block_t block{};
  block.size = sizeof block;
  if (IW_describe_block(segment.handle(), p, &block) != 0) throw iw::Error::last();
  return block;
}

}  // namespace

void KnownParts::update(const iw::Segment& segment) {
  const bool is_same = is_up_to_date(segment);
  version_ = segment.version();
  if (is_same) return;
  places_.assign(kFewest, nullptr);
  count_ = 0;
  blocks_ = stats_of(segment).blocks;
  newest_ = nullptr;
  for (const void* at = nullptr; (at = IW_next_block(segment.handle(), at)) != nullptr;) {
    const IW_block_t block = described(segment, at);
    if (block.type == IW_part && block.is_reserved == 0) add_block(block);
    newest_ = at;
    newest_serial_ = block.serial;
  }
}

bool KnownParts::is_up_to_date(const iw::Segment& segment) const {
  if (newest_ == nullptr || segment.version() < version_) return false;
  if (stats_of(segment).blocks != blocks_) return false;
  IW_block_t block{};
  block.size = sizeof block;
  return IW_describe_block(segment.handle(), newest_, &block) == 0 &&
         block.serial == newest_serial_ && IW_next_block(segment.handle(), newest_) == nullptr;
}

void KnownParts::add_block(const IW_block_t& block) {
  const auto* const first = static_cast<const part*>(block.address);
  for (std::size_t i = 0; i < block.count; ++i) add(first + i);
}

void KnownParts::add(const part* one) {
  if ((count_ + 1) * 2 > places_.size()) grow();
  std::size_t at = place_of(one);
  while (places_[at] != nullptr) at = next(at);
  places_[at] = one;
  ++count_;
}

void KnownParts::grow() {
  std::vector<const part*> old(places_.size() * 2);
  old.swap(places_);
  count_ = 0;
  for (const part* one : old) {
    if (one != nullptr) add(one);
  }
}

}  // namespace stock
