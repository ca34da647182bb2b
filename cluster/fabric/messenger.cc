#include "fabric/messenger.h"

#include <cstring>
#include <utility>

#include "fabric/service.h"
#include "fabric/ucx_status.h"

namespace iw::fabric {

ucs_status_t Messenger::set_handler(ucp_worker_h transport, unsigned id,
                                    ucp_am_recv_callback_t call, void* argument) {
  if (id >= ids_of_transport) return UCS_ERR_INVALID_PARAM;
  ucp_am_handler_param_t param{};
  param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                     UCP_AM_HANDLER_PARAM_FIELD_ARG;
  param.id = id;
  param.cb = call;
  param.arg = argument;
  return ucp_worker_set_am_recv_handler(transport, &param);
}

// From the highest down, so that the transport's table grows once.
ucs_status_t Messenger::drop_all(ucp_worker_h transport, unsigned ids) {
  const ucp_am_recv_callback_t drop = [](void*, const void*, std::size_t, void*, std::size_t,
                                         const ucp_am_recv_param_t*) { return UCS_OK; };
  for (unsigned id = ids; id-- > 0;) {
    if (const ucs_status_t set = set_handler(transport, id, drop, nullptr); set != UCS_OK)
      return set;
  }
  return UCS_OK;
}

// The bound is far above what the transports' buffers hold; others may be sending all the time.
void Messenger::poll_until_quiet() {
  constexpr int looks_max = 4096;
  constexpr int quiet_looks = 8;  // one may find no more than a part of a message
  for (int looks = 0, quiet = 0; looks < looks_max && quiet < quiet_looks; looks++) {
    quiet = poll() == 0 ? quiet + 1 : 0;
  }
}

void Messenger::later(std::function<void()> call) {
  after_poll(std::move(call));
  service_.nudge_if_asleep();
}

unsigned Messenger::run_later() {
  const auto calls = std::move(later_);
  later_.clear();
  for (const auto& call : calls) call();
  return static_cast<unsigned>(calls.size());
}

Op* Messenger::take_op(Completion* done) {
  if (free_ops_.empty()) {
    free_ops_.push_back(&ops_.emplace_back());
    free_ops_.back()->messenger = this;
  }
  Op* op = free_ops_.back();
  free_ops_.pop_back();
  op->done = done;
  return op;
}

Status Messenger::settle(ucs_status_ptr_t posted, Op* op) {
  if (UCS_PTR_IS_PTR(posted)) {
    service_.nudge_if_asleep();
    return Status::pending;
  }
  free_ops_.push_back(op);
  return to_status(UCS_PTR_STATUS(posted));
}

void Messenger::on_done(void* request, ucs_status_t status, void* op_pointer) {
  auto* op = static_cast<Op*>(op_pointer);
  ucp_request_free(request);
  Completion* done = op->done;
  op->messenger->free_ops_.push_back(op);
  if (done != nullptr) done->done(*done, to_status(status));
}

void Messenger::on_sent(void* request, ucs_status_t status, void* completion) {
  ucp_request_free(request);
  auto* done = static_cast<Completion*>(completion);
  done->done(*done, to_status(status));
}

ucp_request_param_t Messenger::param_for(Op* op) {
  ucp_request_param_t param;
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = &Messenger::on_done;
  param.user_data = op;
  return param;
}

Status Messenger::send_begun(ucp_ep_h endpoint, MessageId id, Op* op, std::size_t begin_bytes,
                             Bytes payload) {
  const Bytes all(op->header);
  const std::size_t bytes = begin_bytes + payload.size();
  if (bytes > one_piece_bytes_max) {
    return send_on(endpoint, id, all.first(begin_bytes), payload, op);
  }
  if (!payload.empty()) {
    std::memcpy(op->header.data() + begin_bytes, payload.data(), payload.size());
  }
  return send_on(endpoint, id, {}, all.first(bytes), op);
}

// Never by rendezvous: an eager message cannot overtake another.
Status Messenger::send_on(ucp_ep_h endpoint, unsigned id, Bytes header, Bytes payload, Op* op,
                          unsigned flags) {
  ucp_request_param_t param = param_for(op);
  param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_AM_SEND_FLAG_EAGER | flags;
  return settle(ucp_am_send_nbx(endpoint, id, header.data(), header.size(), payload.data(),
                                payload.size(), &param),
                op);
}

Status Messenger::status_of_piece(ucs_status_ptr_t posted) {
  if (!UCS_PTR_IS_PTR(posted)) return to_status(UCS_PTR_STATUS(posted));
  service_.nudge_if_asleep();
  return Status::pending;
}

Status Messenger::tell(ucp_ep_h endpoint, MessageId id, Bytes head, Bytes data, Completion* done) {
  Op* op = take_op(done);
  std::memcpy(op->header.data(), head.data(), head.size());
  return send_begun(endpoint, id, op, head.size(), data);
}

Status Messenger::flush(ucp_ep_h endpoint, Completion* done) {
  Op* op = take_op(done);
  const auto param = param_for(op);
  return settle(ucp_ep_flush_nbx(endpoint, &param), op);
}

}  // namespace iw::fabric
