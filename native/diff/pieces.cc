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

Pieces::Body Pieces::begin_body() {
  views_.push_back({size_, size_, {}});
  (void)extend(kMaxVarintBytes);
  return {views_.size() - 1, size_bytes()};
}

void Pieces::end_body(const Body& body) {
  std::byte bytes[kMaxVarintBytes];
  const auto length = static_cast<std::size_t>(size_bytes() - body.size_before);
  const std::size_t count = put_varint(length, bytes);
  const std::size_t unused = kMaxVarintBytes - count;
  View& room = views_[body.view];
  if (length < kLeastSliceBytes) {  // it has no views
    std::byte* const at = own_.get() + room.own_end;
    views_.pop_back();
    std::memmove(at + count, at + kMaxVarintBytes, length);
    std::memcpy(at, bytes, count);
    size_ -= unused;
    return;
  }
  room.own_next = room.own_end + unused;
  std::memcpy(own_.get() + room.own_next, bytes, count);
  unused_bytes_ += unused;
}

void Pieces::slices(std::vector<Slice>& out) const {
  const Slice own(own_.get(), size_);
  std::size_t at = 0;
  for (const View& view : views_) {
    if (view.own_end != at) out.push_back(own.subspan(at, view.own_end - at));
    if (!view.bytes.empty()) out.push_back(view.bytes);
    at = view.own_next;
  }
  if (at != own.size()) out.push_back(own.subspan(at));
}

}  // namespace iw::diff
