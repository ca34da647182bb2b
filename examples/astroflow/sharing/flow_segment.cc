#include "sharing/flow_segment.h"

#include "command_line/set_coherence.h"

namespace astroflow {
namespace {

// Asked for only so that the event descriptor wakes the program's own loop.
void on_change(IW_handle_t, uint64_t, void*) {}

}  // namespace

FlowSegment::~FlowSegment() {
  if (handle_ != nullptr) IW_close_segment(handle_);
}

bool FlowSegment::open(const std::string& url, const command_line::CoherenceChoice& coherence) {
  url_ = url;
  coherence_ = coherence;
  handle_ = IW_open_segment(url.c_str());
  if (handle_ == nullptr) return false;
  event_fd_ = IW_event_fd();
  return command_line::set_coherence(handle_, coherence) &&
         IW_on_change(handle_, on_change, nullptr) == 0;
}

bool FlowSegment::is_lost() const { return handle_ == nullptr || IW_errno() == IW_ESEGMENT_LOST; }

bool FlowSegment::reopen() {
  if (handle_ != nullptr) {
    earlier_traffic_ = traffic();
    IW_close_segment(handle_);
  }
  header_ = nullptr;
  arrays_ = {};
  return open(url_, coherence_);
}

bool FlowSegment::find_blocks() { return has_blocks() || bind_blocks(false); }

bool FlowSegment::find_or_allocate_blocks() {
  return has_blocks() || bind_blocks(false) || (!is_foreign() && bind_blocks(true));
}

bool FlowSegment::is_foreign() const {
  return IW_next_block(handle_, nullptr) != nullptr && block("header") == nullptr;
}

void* FlowSegment::block(const char* name) const {
  return IW_mip_to_ptr((url_ + '#' + name).c_str());
}

double* FlowSegment::field_block(const char* name, bool allocate, bool& ok) {
  void* found = allocate ? IW_malloc_named(handle_, IW_field, name) : block(name);
  ok = ok && found != nullptr;
  return static_cast<double*>(found);
}

bool FlowSegment::bind_blocks(bool allocate) {
  bool ok = true;
  arrays_.density = field_block("density", allocate, ok);
  if (ok) arrays_.momentum_x = field_block("momentum_x", allocate, ok);
  if (ok) arrays_.momentum_y = field_block("momentum_y", allocate, ok);
  if (ok) arrays_.energy = field_block("energy", allocate, ok);
  if (ok) arrays_.pressure = field_block("pressure", allocate, ok);
  if (ok) arrays_.tracer = field_block("tracer", allocate, ok);
  if (!ok) return false;
  void* header = allocate ? IW_malloc_named(handle_, IW_flow_header, "header") : block("header");
  header_ = static_cast<flow_header*>(header);
  return header_ != nullptr;
}

double FlowSegment::staleness_s() const {
  double seconds = 0;
  return IW_staleness(handle_, &seconds) == 0 ? seconds : 0;
}

Traffic FlowSegment::traffic() const {
  IW_stats_t stats{};
  stats.size = sizeof stats;
  if (handle_ == nullptr || IW_stats(handle_, &stats) != 0) return earlier_traffic_;
  return {earlier_traffic_.bytes_sent + stats.bytes_sent,
          earlier_traffic_.bytes_received + stats.bytes_received};
}

bool FlowSegment::release() {
  if (IW_wl_release(handle_) == 0) return true;
  const int error = IW_errno();
  const bool is_held = error == IW_ESTORE_FULL || error == IW_ESTORE_ALONE ||
                       error == IW_ESTORE_AWAY || error == IW_ETIMED_OUT;
  if (is_held) IW_wl_abort(handle_);
  return false;
}

bool may_pass() {
  switch (IW_errno()) {
    case IW_ETIMED_OUT:
    case IW_EUNREACHABLE:
    case IW_EFENCED:
    case IW_EROLLED_BACK:
    case IW_ESTORE_FULL:
    case IW_ESTORE_ALONE:
    case IW_ESTORE_AWAY:
    case IW_ESTALE:
    case IW_ESTOPPING:
      return true;
    default:
      return false;
  }
}

std::string last_error() { return IW_strerror(); }

}  // namespace astroflow
