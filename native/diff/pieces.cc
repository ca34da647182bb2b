#include "diff/pieces.h"

#include <algorithm>

namespace iw::diff {

void Pieces::grow(std::size_t count) {
  constexpr std::size_t kLeastBytes = 256;
  const std::size_t capacity = std::max({kLeastBytes, 2 * capacity_, size_ + count});
  std::unique_ptr<std::byte[]> larger(new std::byte[capacity]);
  if (size_ != 0) std::memcpy(larger.get(), own_.get(), size_);
  own_ = std::move(larger);
  capacity_ = capacity;
}

void Pieces::insert_length(const Place& place) {
  std::byte bytes[kMaxVarintBytes];
  const std::size_t count = put_varint(size_bytes() - place.size_before, bytes);
  (void)extend(count);
  std::byte* const at = own_.get() + place.own_offset;
  std::memmove(at + count, at, size_ - count - place.own_offset);
  std::memcpy(at, bytes, count);
  for (auto view = views_.rbegin(); view != views_.rend(); ++view) {
    if (view->own_offset < place.own_offset) break;
    view->own_offset += count;
  }
}

void Pieces::slices(std::vector<Slice>& out) const {
  const Slice own(own_.get(), size_);
  std::size_t at = 0;
  for (const View& view : views_) {
    if (view.own_offset != at) out.push_back(own.subspan(at, view.own_offset - at));
    out.push_back(view.bytes);
    at = view.own_offset;
  }
  if (at != own.size()) out.push_back(own.subspan(at));
}

}  // namespace iw::diff
