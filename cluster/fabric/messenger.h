// The transport's worker: what is posted to it, what it calls back, and what has to wait until it
// has returned.
//
// Invariants: an operation that the transport is still at has an Op from the stock, which outlives
// the operation. A call that is left for later runs after the transport has returned, in the order
// of leaving [UCX-4].
//
// The worker's lock guards a messenger: its owner declares it so. Completions and later calls run
// with the lock held.
#pragma once

#include <ucp/api/ucp.h>

#include <array>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "fabric/fabric.h"

namespace iw::fabric {

class Messenger;
class Service;

// The library's fastest way is for one piece of about this size.
inline constexpr std::size_t one_piece_bytes_max = 128;

// The numbers that a message of the transport can have, whoever says it.
inline constexpr unsigned ids_of_transport = 1 << 16;

// Before a message's header. A message that is small, or was sent in place, travels in one piece,
// another as header and payload.
struct Prefix {
  // As its receiver knows the sender (peer_table.h), with the header's length in the tag's gap.
  std::uint64_t tag_and_header_bytes;
};
static_assert(sizeof(Prefix) == message_room_bytes && header_bytes_max <= 0xff);

// An operation that the transport is at: kept until it calls back.
struct Op {
  Messenger* messenger = nullptr;
  Completion* done = nullptr;
  std::array<std::byte, sizeof(Prefix) + header_bytes_max> header;
};
static_assert(one_piece_bytes_max <= sizeof(Op::header));

class Messenger {
 public:
  Messenger(Service& service, ucp_worker_h transport) : service_(service), transport_(transport) {}

  ucp_worker_h transport() const { return transport_; }
  // Returns the one before. Endpoints belong to the one that they were opened with.
  ucp_worker_h change_transport(ucp_worker_h made) { return std::exchange(transport_, made); }
  ucs_status_t set_handler(unsigned id, ucp_am_recv_callback_t call, void* argument) {
    return set_handler(transport_, id, call, argument);
  }
  // Drops messages of the numbers below. Before anybody can reach the worker [UCX-17], and when it
  // is not to hear any more.
  static ucs_status_t drop_all(ucp_worker_h transport, unsigned ids);

  // Handles what has arrived; how much.
  unsigned poll() {
    is_polling_ = true;
    const unsigned handled = ucp_worker_progress(transport_);
    is_polling_ = false;
    return handled;
  }
  // Until nothing more is here, though others may be sending all the time.
  void poll_until_quiet();
  bool is_polling() const { return is_polling_; }

  // Leaves a call for later; the service progresses the worker if no other thread does.
  void later(std::function<void()> call);
  // The same without a nudge, where the thread progresses the worker already.
  void after_poll(std::function<void()> call) { later_.push_back(std::move(call)); }
  bool has_later() const { return !later_.empty(); }
  unsigned run_later();

  Op* take_op(Completion* done);
  // The status of an operation, from what the library answered when it was posted.
  Status settle(ucs_status_ptr_t posted, Op* op);
  static void on_done(void* request, ucs_status_t status, void* op);
  // Parameters of an operation that ends in on_done().
  static ucp_request_param_t param_for(Op* op);

  // With the payload after what the op's header begins with: in one piece if it is small.
  Status send_begun(ucp_ep_h endpoint, MessageId id, Op* op, std::size_t begin_bytes,
                    Bytes payload);
  Status send_on(ucp_ep_h endpoint, unsigned id, Bytes header, Bytes payload, Op* op,
                 unsigned flags = 0);
  // From where it lies.
  Status send_piece(ucp_ep_h endpoint, MessageId id, Bytes piece, Completion* done) {
    ucp_request_param_t param;
    param.op_attr_mask =
        UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_AM_SEND_FLAG_EAGER;
    param.cb.send = &Messenger::on_sent;
    param.user_data = done;
    const ucs_status_ptr_t posted =
        ucp_am_send_nbx(endpoint, id, nullptr, 0, piece.data(), piece.size(), &param);
    return posted == nullptr ? Status::ok : status_of_piece(posted);
  }
  // A message of the fabric's own. `data` stays where it is if the result is pending.
  Status tell(ucp_ep_h endpoint, MessageId id, Bytes head, Bytes data, Completion* done);
  Status flush(ucp_ep_h endpoint, Completion* done);

 private:
  static ucs_status_t set_handler(ucp_worker_h transport, unsigned id, ucp_am_recv_callback_t call,
                                  void* argument);
  Status status_of_piece(ucs_status_ptr_t posted);
  static void on_sent(void* request, ucs_status_t status, void* completion);

  Service& service_;
  ucp_worker_h transport_;
  bool is_polling_ = false;  // the transport is, which calls handlers
  std::vector<std::function<void()>> later_;
  std::deque<Op> ops_;
  std::vector<Op*> free_ops_;
};

}  // namespace iw::fabric
