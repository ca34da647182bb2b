#include "diff/pieces.h"

#include "diff/varint.h"

namespace iw::diff {

void Pieces::append_varint(std::uint64_t value) {
  std::byte bytes[kMaxVarintBytes];
  append(bytes, put_varint(value, bytes));
}

void Pieces::insert_length(const Place& place) {
  std::byte bytes[kMaxVarintBytes];
  const std::size_t count = put_varint(size_bytes() - place.size_before, bytes);
  own_.insert(own_.begin() + static_cast<std::ptrdiff_t>(place.own_offset), bytes, bytes + count);
  for (auto view = views_.rbegin(); view != views_.rend(); ++view) {
    if (view->own_offset < place.own_offset) break;
    view->own_offset += count;
  }
}

void Pieces::slices(std::vector<Slice>& out) const {
  const Slice own(own_);
  std::size_t at = 0;
  for (const View& view : views_) {
    if (view.own_offset != at) out.push_back(own.subspan(at, view.own_offset - at));
    out.push_back(view.bytes);
    at = view.own_offset;
  }
  if (at != own.size()) out.push_back(own.subspan(at));
}

}  // namespace iw::diff
