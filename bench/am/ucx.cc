// The bare transport library, as a program uses it that knows nothing but UCX. The answer has the
// bytes that came, sent from where they lie, like the answer of Active Messages.
#include <cstring>
#include <utility>

#include "am/peers.h"
#include "harness/bare_ucx.h"

namespace bench {
namespace {

class Bare {
 public:
  Bare(const Case& measured, const Line& line, bool is_answering)
      : worker_(measured.transport == "shm" ? "posix,cma" : "tcp", UCP_FEATURE_AM,
                measured.is_blocking),
        is_answering_(is_answering),
        block_(measured.bytes, 'x') {
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                         UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = 1;
    handler.cb = [](void* self, const void*, std::size_t, void* data, std::size_t bytes,
                    const ucp_am_recv_param_t* param) {
      return static_cast<Bare*>(self)->take(data, bytes, param);
    };
    handler.arg = this;
    check(ucp_worker_set_am_recv_handler(worker_.get(), &handler),
          "ucp_worker_set_am_recv_handler");
    connect(line);
  }

  void ask() {
    post(block_.data(), block_.size());
    while (is_sending_) ucp_worker_progress(worker_.get());
  }

  void wait_for(std::uint64_t count) {
    while (arrived_ < count) worker_.turn();
  }

  std::uint64_t arrived() const { return arrived_; }

 private:
  ucs_status_t take(void* data, std::size_t bytes, const ucp_am_recv_param_t* param) {
    arrived_++;
    if (!is_answering_) return UCS_OK;
    const bool may_stay = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0;
    if (!may_stay) data = std::memcpy(block_.data(), data, bytes);
    post(data, bytes);
    if (!is_sending_ || !may_stay) return UCS_OK;
    held_ = data;
    return UCS_INPROGRESS;
  }

  void post(const void* data, std::size_t bytes) {
    ucp_request_param_t param;
    param.op_attr_mask =
        UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.flags = UCP_AM_SEND_FLAG_EAGER;
    param.user_data = this;
    param.cb.send = [](void* request, ucs_status_t, void* self_pointer) {
      auto& self = *static_cast<Bare*>(self_pointer);
      ucp_request_free(request);
      self.is_sending_ = false;
      if (void* held = std::exchange(self.held_, nullptr)) {
        ucp_am_data_release(self.worker_.get(), held);
      }
    };
    const auto posted = ucp_am_send_nbx(peer_, 1, nullptr, 0, data, bytes, &param);
    is_sending_ = UCS_PTR_IS_PTR(posted);
    if (!is_sending_) check(UCS_PTR_STATUS(posted), "ucp_am_send_nbx");
  }

  void connect(const Line& line) {
    const std::string address = worker_.address();
    line.say({address.begin(), address.end()});
    peer_ = worker_.connect(line.hear().data());
  }

  const BareWorker worker_;
  const bool is_answering_;
  std::vector<char> block_;
  bool is_sending_ = false;
  void* held_ = nullptr;  // what is being sent back
  ucp_ep_h peer_ = nullptr;
  std::uint64_t arrived_ = 0;
};

}  // namespace

double ask_by_ucx(const Case& measured, const Line& line) {
  Bare bare(measured, line, false);
  return measure(measured, [&] {
    const std::uint64_t next = bare.arrived() + 1;
    bare.ask();
    bare.wait_for(next);
  });
}

void answer_by_ucx(const Case& measured, const Line& line) {
  Bare bare(measured, line, true);
  for (;;) bare.wait_for(bare.arrived() + 1);
}

}  // namespace bench
