#include "session/frame_writer.h"

#include <algorithm>

#include "platform/invariant.h"
#include "session/frame.h"

namespace iw::session {
namespace {

constexpr std::size_t envelope_bytes = 16;

// Walks the caller's slices chunk by chunk.
class BulkCursor {
 public:
  explicit BulkCursor(std::span<const Slice> bulk) : bulk_(bulk) {}

  void append(std::size_t bytes, std::vector<Slice>& out) {
    while (bytes > 0) {
      const Slice& slice = bulk_[at_];
      const std::size_t taken = std::min(bytes, slice.size_bytes - offset_bytes_);
      if (taken > 0) {
        out.push_back({static_cast<const std::byte*>(slice.data) + offset_bytes_, taken});
      }
      bytes -= taken;
      offset_bytes_ += taken;
      if (offset_bytes_ == slice.size_bytes) {
        ++at_;
        offset_bytes_ = 0;
      }
    }
  }

 private:
  std::span<const Slice> bulk_;
  std::size_t at_ = 0;
  std::size_t offset_bytes_ = 0;
};

}  // namespace

FrameWriter::FrameWriter(protocol::message_type type, std::uint32_t stream,
                         std::span<const std::uint8_t> body, std::span<const Slice> bulk) {
  for (const Slice& slice : bulk) bulk_bytes_ += slice.size_bytes;
  const std::uint64_t chunks = std::max<std::uint64_t>(
      1, (bulk_bytes_ + protocol::MAX_CHUNK_BYTES - 1) / protocol::MAX_CHUNK_BYTES);
  heads_.reserve(static_cast<std::size_t>(chunks) * (frame_head_bytes + envelope_bytes) +
                 body.size());
  BulkCursor cursor(bulk);
  std::uint64_t left_bytes = bulk_bytes_;
  for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
    const auto chunk_bytes =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(left_bytes, protocol::MAX_CHUNK_BYTES));
    if (chunk == 0) {
      add_frame(type, stream, bulk_bytes_, body, chunk_bytes);
    } else {
      add_frame(protocol::message_type::CONTINUE, stream, 0, {}, chunk_bytes);
    }
    cursor.append(chunk_bytes, slices_);
    frames_.push_back({slices_.size(), chunk_bytes});
    left_bytes -= chunk_bytes;
  }
  frame_bytes_ = heads_.size() + bulk_bytes_;
}

void FrameWriter::add_frame(protocol::message_type type, std::uint32_t stream,
                            std::uint64_t envelope_bulk, std::span<const std::uint8_t> body,
                            std::uint32_t chunk_bytes) {
  IW_INVARIANT(heads_.size() + frame_head_bytes + envelope_bytes + body.size() <= heads_.capacity(),
               "slices point into the heads");
  const std::size_t begin = heads_.size();
  xdr::Writer writer(heads_);
  writer.u32(static_cast<std::uint32_t>(envelope_bytes + body.size()));
  writer.u32(chunk_bytes);
  encode(writer, protocol::envelope{static_cast<std::int32_t>(type), stream, envelope_bulk});
  heads_.insert(heads_.end(), body.begin(), body.end());
  slices_.push_back({heads_.data() + begin, heads_.size() - begin});
}

std::span<const Slice> FrameWriter::next(std::size_t budget_bytes) {
  if (next_frame_ == frames_.size()) return {};
  const std::size_t first_slice = next_frame_ == 0 ? 0 : frames_[next_frame_ - 1].end_slice;
  std::size_t given_bytes = 0;
  do {
    given_bytes += frames_[next_frame_++].chunk_bytes;
  } while (next_frame_ < frames_.size() &&
           given_bytes + frames_[next_frame_].chunk_bytes <= budget_bytes);
  return std::span(slices_).subspan(first_slice, frames_[next_frame_ - 1].end_slice - first_slice);
}

}  // namespace iw::session
