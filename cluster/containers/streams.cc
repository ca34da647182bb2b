// The streams, and the functions of a StandardContainer that defines none.
#include <algorithm>
#include <cstring>
#include <limits>

#include "interweave/containers/object.hpp"

namespace iw::containers {
namespace {

// Most updates are not longer, so they are written without growing the buffer.
constexpr std::size_t small_bytes = 64;

bool is_count(const void* bytes, long count) {
  return count > 0 && count <= std::numeric_limits<int>::max() && bytes != nullptr;
}

}  // namespace

int MarshalStream::WriteBytes(const void* bytes, long count) {
  if (!is_count(bytes, count)) return 0;
  std::span<const std::byte> rest(static_cast<const std::byte*>(bytes),
                                  static_cast<std::size_t>(count));
  if (buffer_.empty()) buffer_.reserve(small_bytes);
  while (!rest.empty()) {
    const auto part = rest.first(std::min(rest.size(), buffer_bytes - buffer_.size()));
    buffer_.insert(buffer_.end(), part.begin(), part.end());
    rest = rest.subspan(part.size());
    if (buffer_.size() == buffer_bytes) {
      sink_(std::move(buffer_));
      buffer_.clear();
    }
  }
  return static_cast<int>(count);
}

void MarshalStream::finish() {
  sink_(std::move(buffer_));
  buffer_.clear();
}

DeMarshalStream::DeMarshalStream(const Buffers& buffers) : buffers_(buffers) {
  for (const auto& each : buffers) left_ += each.size();
}

int DeMarshalStream::ReadBytes(void* bytes, long count) {
  if (!is_count(bytes, count)) return 0;
  std::span<std::byte> rest(static_cast<std::byte*>(bytes), static_cast<std::size_t>(count));
  rest = rest.first(std::min(rest.size(), left_));
  const auto read = static_cast<int>(rest.size());
  left_ -= rest.size();
  while (!rest.empty()) {
    const auto part = std::span(buffers_[buffer_]).subspan(offset_);
    const std::size_t taken = std::min(part.size(), rest.size());
    std::copy_n(part.begin(), taken, rest.begin());
    rest = rest.subspan(taken);
    offset_ += taken;
    if (offset_ == buffers_[buffer_].size()) {
      buffer_++;
      offset_ = 0;
    }
  }
  return read;
}

OBJ_RETURN StandardContainer::Insert(Ref, Ref) { return OBJ_RETURN_FAIL; }
OBJ_RETURN StandardContainer::Delete(Ref, Ref) { return OBJ_RETURN_FAIL; }
OBJ_RETURN StandardContainer::Clear() { return OBJ_RETURN_FAIL; }

}  // namespace iw::containers
