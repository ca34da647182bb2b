// How workers meet on verbs: by the adapters' connection manager, because a worker's address does
// not connect everywhere [UCX-6]. A worker listens there, and its transport address says where.
// Another worker calls that place; the endpoint that it opens serves both ways. The listener knows
// the caller when the caller's hello arrives.
#include <netinet/in.h>

#include <cstring>

#include "fabric/open_files.h"
#include "fabric/own_addresses.h"
#include "fabric/ucx_fabric.h"
#include "fabric/ucx_status.h"
#include "fabric/ucx_worker.h"

namespace iw::fabric {
namespace {

// What a transport address is here.
struct CallPlace {
  std::uint32_t ip4;  // both in network byte order
  std::uint16_t port;
};
constexpr std::size_t place_bytes = sizeof(std::uint32_t) + sizeof(std::uint16_t);

sockaddr_in socket_address(const CallPlace& place) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = place.ip4;
  at.sin_port = place.port;
  return at;
}

}  // namespace

// At the first of the machine's addresses that an adapter has.
Status UcxWorker::listen() {
  ucs_status_t status = UCS_ERR_NO_DEVICE;
  for (const std::uint32_t ip4 : own_ip4s()) {
    const sockaddr_in at = socket_address({ip4, 0});
    ucp_listener_params_t params{};
    params.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
    params.sockaddr = {reinterpret_cast<const sockaddr*>(&at), sizeof at};
    params.conn_handler = {&UcxWorker::on_call, this};
    status = ucp_listener_create(worker_, &params, &listener_);
    if (status == UCS_OK) break;
  }
  if (status != UCS_OK) return Status::unreachable;
  ucp_listener_attr_t attributes{};
  attributes.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR;
  status = ucp_listener_query(listener_, &attributes);
  const auto& at = reinterpret_cast<const sockaddr_in&>(attributes.sockaddr);
  transport_address_.resize(place_bytes);
  std::memcpy(transport_address_.data(), &at.sin_addr.s_addr, sizeof at.sin_addr.s_addr);
  std::memcpy(transport_address_.data() + sizeof at.sin_addr.s_addr, &at.sin_port,
              sizeof at.sin_port);
  return to_status(status);
}

Status UcxWorker::call(Bytes bytes, ucp_ep_h* endpoint) {
  if (bytes.size() != place_bytes) return Status::bad_argument;
  CallPlace place;
  std::memcpy(&place.ip4, bytes.data(), sizeof place.ip4);
  std::memcpy(&place.port, bytes.data() + sizeof place.ip4, sizeof place.port);
  const sockaddr_in at = socket_address(place);
  auto param = endpoint_params(UCP_ERR_HANDLING_MODE_PEER);
  param.field_mask |= UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR;
  param.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
  param.sockaddr = {reinterpret_cast<const sockaddr*>(&at), sizeof at};
  return to_status(ucp_ep_create(worker_, &param, endpoint));
}

void UcxWorker::on_call(ucp_conn_request_h request, void* worker) {
  auto& self = *static_cast<UcxWorker*>(worker);
  self.lock_.assert_held();
  const bool has_room = self.has_room() && self.called_by_.size() < peers_max;
  if (!has_room || !has_open_files_for_a_peer()) {
    ucp_listener_reject(self.listener_, request);
    return;
  }
  auto param = self.endpoint_params(UCP_ERR_HANDLING_MODE_PEER);
  param.field_mask |= UCP_EP_PARAM_FIELD_CONN_REQUEST;
  param.conn_request = request;
  ucp_ep_h endpoint = nullptr;
  if (ucp_ep_create(self.worker_, &param, &endpoint) == UCS_OK) self.called_by_.insert(endpoint);
}

void UcxWorker::close_listener() {
  if (listener_ != nullptr) ucp_listener_destroy(listener_);
  for (const ucp_ep_h endpoint : called_by_) close_endpoint(endpoint, true);
  called_by_.clear();
}

}  // namespace iw::fabric
