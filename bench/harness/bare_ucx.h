// The bare transport library, as a program opens it that knows nothing but UCX: a context with one
// worker. The benchmark that uses it sends messages, or accesses memory one-sidedly.
#pragma once

#include <poll.h>
#include <ucp/api/ucp.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace bench {

[[noreturn]] void fail(const std::string& what);  // the program's

inline void check(ucs_status_t status, const char* what) {
  if (status != UCS_OK) fail(std::string(what) + ": " + ucs_status_string(status));
}

// Lives as long as its process.
class BareWorker {
 public:
  // `transports`: as UCX_TLS.
  BareWorker(const char* transports, std::uint64_t features, bool is_blocking)
      : is_blocking_(is_blocking) {
    setenv("UCX_TLS", transports, 1);
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = features | UCP_FEATURE_WAKEUP;
    check(ucp_init(&params, nullptr, &context_), "ucp_init");
    ucp_worker_params_t worker_params{};
    worker_params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker_params.thread_mode = UCS_THREAD_MODE_SINGLE;
    check(ucp_worker_create(context_, &worker_params, &worker_), "ucp_worker_create");
    check(ucp_worker_get_efd(worker_, &event_fd_), "ucp_worker_get_efd");
  }

  ucp_context_h context() const { return context_; }
  ucp_worker_h get() const { return worker_; }
  bool is_blocking() const { return is_blocking_; }

  std::string address() const {
    ucp_address_t* address = nullptr;
    std::size_t length = 0;
    check(ucp_worker_get_address(worker_, &address, &length), "ucp_worker_get_address");
    const std::string bytes(reinterpret_cast<const char*>(address), length);
    ucp_worker_release_address(worker_, address);
    return bytes;
  }

  ucp_ep_h connect(const char* address) const {
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address = reinterpret_cast<const ucp_address_t*>(address);
    ucp_ep_h endpoint = nullptr;
    check(ucp_ep_create(worker_, &params, &endpoint), "ucp_ep_create");
    return endpoint;
  }

  // False if nothing had arrived. A blocking worker has slept then, until something may have
  // arrived.
  bool turn() const {
    if (ucp_worker_progress(worker_) > 0) return true;
    if (!is_blocking_ || ucp_worker_arm(worker_) != UCS_OK) return false;
    pollfd one{event_fd_, POLLIN, 0};
    poll(&one, 1, 1000);
    return false;
  }

 private:
  const bool is_blocking_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int event_fd_ = -1;
};

}  // namespace bench
