#include "client/handle.h"

#include "client/segment.h"
#include "platform/process.h"

using iw::client::Segment;

IW_segment::IW_segment(iw::client::Runtime& runtime, std::string name)
    : runtime_(runtime), name_(std::move(name)), fork_count_(iw::platform::fork_count()) {}

void IW_segment::lead_to(Segment& segment) {
  if ((calls_.load(std::memory_order_acquire) & closed) == 0) return;  // to the same one
  segment_ = &segment;
  calls_.fetch_and(~closed, std::memory_order_release);
}

bool IW_segment::has_segment() const {
  return (calls_.load(std::memory_order_acquire) & closed) == 0;
}

bool IW_segment::let_go() {
  std::uint32_t none = 0;
  return calls_.compare_exchange_strong(none, closed, std::memory_order_acq_rel);
}

namespace iw::client {

CallOn::CallOn(IW_segment& handle)
    : handle_(handle),
      has_segment_((handle.calls_.fetch_add(1, std::memory_order_acquire) & IW_segment::closed) ==
                   0) {}

CallOn::~CallOn() { handle_.calls_.fetch_sub(1, std::memory_order_release); }

types::Result CallOn::check_usable() const {
  if (handle_.fork_count_ != platform::fork_count()) {
    return {protocol::error_code::FORKED,
            "the handle was opened before fork; open the segment again in the child"};
  }
  if (has_segment_) return handle_.segment_->check_usable();
  return {protocol::error_code::NOT_OPEN, "the segment is not open; IW_open_segment opens it"};
}

}  // namespace iw::client
