#include "fabric/hearing.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "fabric/hello_messages.h"
#include "fabric/packed.h"
#include "fabric/secrets.h"
#include "fabric/transport_segments.h"

namespace iw::fabric {
namespace {

constexpr std::chrono::milliseconds patience{500}, patience_max{5000};
constexpr std::chrono::milliseconds counted_max{5};  // between two looks
constexpr int polls_to_close_max = 10'000;

ucs_status_t make_context(ucp_context_h* context) {
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) return status;
  ucp_config_modify(config, "TLS", "sysv");
  ucp_config_modify(config, "ALLOC_PRIO", "md:sysv,mmap");
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM;
  status = ucp_init(&params, config, context);
  ucp_config_release(config);
  return status;
}

}  // namespace

std::unique_ptr<Hearing> Hearing::begin(Bytes listener) {
  std::unique_ptr<Hearing> made(new Hearing);
  const auto before = mapped_segments();
  const bool is_open = before && made->open() && close_new_segments_to_others(*before);
  return is_open && made->speak(listener) ? std::move(made) : nullptr;
}

bool Hearing::open() {
  if (make_context(&context_) != UCS_OK) return false;
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  return ucp_worker_create(context_, &params, &speaker_) == UCS_OK;
}

// The endpoint is as one to another process, so that it can be closed by force.
bool Hearing::speak(Bytes listener) {
  number_ = std::make_unique<std::uint64_t>(Secrets().next());
  const auto framed = framed_address(listener);
  ucp_ep_params_t to{};
  to.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
  to.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  to.address = reinterpret_cast<const ucp_address_t*>(framed.data());
  if (ucp_ep_create(speaker_, &to, &endpoint_) != UCS_OK) return false;
  ucp_request_param_t param;
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  sending_ =
      ucp_am_send_nbx(endpoint_, hearing_id, nullptr, 0, number_.get(), sizeof *number_, &param);
  looked_ = Clock::now();
  return !UCS_PTR_IS_ERR(sending_);
}

// A worker with an endpoint that is still closing cannot be destroyed [UCX-11].
Hearing::~Hearing() {
  if (endpoint_ != nullptr && !close_endpoint()) {
    [[maybe_unused]] const auto* kept = number_.release();
    return;
  }
  if (UCS_PTR_IS_PTR(sending_)) ucp_request_free(sending_);
  if (speaker_ != nullptr) ucp_worker_destroy(speaker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

bool Hearing::close_endpoint() {
  ucp_request_param_t param;
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  const ucs_status_ptr_t closing = ucp_ep_close_nbx(endpoint_, &param);
  if (!UCS_PTR_IS_PTR(closing)) return true;
  for (int i = 0; i < polls_to_close_max; i++) {
    ucp_worker_progress(speaker_);
    if (ucp_request_check_status(closing) == UCS_INPROGRESS) continue;
    ucp_request_free(closing);
    return true;
  }
  return false;
}

void Hearing::hear(Bytes said) {
  is_heard_ |= said.size() == sizeof *number_ &&
               std::memcmp(said.data(), number_.get(), sizeof *number_) == 0;
}

bool Hearing::is_said() const {
  return sending_ == nullptr || ucp_request_check_status(sending_) != UCS_INPROGRESS;
}

Hearing::Verdict Hearing::look(unsigned handled, Deadline now) {
  ucp_worker_progress(speaker_);
  if (is_heard_) return Verdict::hears;
  const auto since = std::min<Clock::duration>(now - std::exchange(looked_, now), counted_max);
  open_ += since;
  unheard_ = is_said() || handled == 0 ? unheard_ + since : Clock::duration::zero();
  return unheard_ >= patience || open_ >= patience_max ? Verdict::deaf : Verdict::open;
}

}  // namespace iw::fabric
