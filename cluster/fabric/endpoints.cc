#include "fabric/endpoints.h"

#include <netinet/in.h>

#include <cstring>
#include <utility>

#include "fabric/door.h"
#include "fabric/open_files.h"
#include "fabric/own_addresses.h"
#include "fabric/packed.h"
#include "fabric/ucx_fabric.h"
#include "fabric/ucx_status.h"

namespace iw::fabric {
namespace {

// A transport address on verbs.
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

Status Endpoints::start() {
  const Status found = fabric_.transport() == Transport::verbs ? listen() : find_address();
  if (found != Status::ok) return found;
  return transport_address_.size() > transport_address_bytes_max ? Status::failed : Status::ok;
}

Status Endpoints::find_address() {
  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS;
  const ucs_status_t status = ucp_worker_query(messenger_.transport(), &attributes);
  if (status != UCS_OK) return to_status(status);
  const auto* begin = reinterpret_cast<const std::byte*>(attributes.address);
  transport_address_.assign(begin, begin + attributes.address_length);
  ucp_worker_release_address(messenger_.transport(), attributes.address);
  return Status::ok;
}

// At the first of the machine's addresses that an adapter has.
Status Endpoints::listen() {
  ucs_status_t status = UCS_ERR_NO_DEVICE;
  for (const std::uint32_t ip4 : own_ip4s()) {
    const sockaddr_in at = socket_address({ip4, 0});
    ucp_listener_params_t params{};
    params.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
    params.sockaddr = {reinterpret_cast<const sockaddr*>(&at), sizeof at};
    params.conn_handler = {&Endpoints::on_call, this};
    status = ucp_listener_create(messenger_.transport(), &params, &listener_);
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

ucp_ep_params_t Endpoints::params(ucp_err_handling_mode_t mode) {
  ucp_ep_params_t param{};
  param.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  param.err_mode = mode;
  param.err_handler.cb = &Endpoints::on_error;
  param.err_handler.arg = this;
  return param;
}

Status Endpoints::open(const AddressParts& parts, Bytes transport_address, ucp_ep_h* endpoint) {
  if (!table_.has_room() || !has_open_files_for_a_peer()) return Status::no_memory;
  if (fabric_.transport() == Transport::verbs) return call(transport_address, endpoint);
  const bool is_own_process = parts.process == fabric_.name();
  auto param = params(is_own_process ? UCP_ERR_HANDLING_MODE_NONE : UCP_ERR_HANDLING_MODE_PEER);
  param.field_mask |= UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
  const auto framed = framed_address(transport_address);
  param.address = reinterpret_cast<const ucp_address_t*>(framed.data());
  return to_status(ucp_ep_create(messenger_.transport(), &param, endpoint));
}

Status Endpoints::call(Bytes bytes, ucp_ep_h* endpoint) {
  if (bytes.size() != place_bytes) return Status::bad_argument;
  CallPlace place;
  std::memcpy(&place.ip4, bytes.data(), sizeof place.ip4);
  std::memcpy(&place.port, bytes.data() + sizeof place.ip4, sizeof place.port);
  const sockaddr_in at = socket_address(place);
  auto param = params(UCP_ERR_HANDLING_MODE_PEER);
  param.field_mask |= UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR;
  param.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
  param.sockaddr = {reinterpret_cast<const sockaddr*>(&at), sizeof at};
  return to_status(ucp_ep_create(messenger_.transport(), &param, endpoint));
}

void Endpoints::on_call(ucp_conn_request_h request, void* endpoints) {
  auto& self = *static_cast<Endpoints*>(endpoints);
  // Once for all that call now.
  if (!std::exchange(self.is_looking_for_late_, true)) {
    self.messenger_.after_poll([&self] {
      self.is_looking_for_late_ = false;
      self.close_late(Clock::now());
    });
  }
  const bool has_room = self.table_.has_room() && self.called_.size() < peers_max;
  if (!has_room || !has_open_files_for_a_peer()) {
    ucp_listener_reject(self.listener_, request);
    return;
  }
  auto param = self.params(UCP_ERR_HANDLING_MODE_PEER);
  param.field_mask |= UCP_EP_PARAM_FIELD_CONN_REQUEST;
  param.conn_request = request;
  ucp_ep_h endpoint = nullptr;
  if (ucp_ep_create(self.messenger_.transport(), &param, &endpoint) == UCS_OK) {
    self.called_.add(endpoint, Clock::now() + pass_lifetime);
  }
}

void Endpoints::on_error(void* endpoints, ucp_ep_h endpoint, ucs_status_t status) {
  auto& self = *static_cast<Endpoints*>(endpoints);
  if (!self.take_called_by(endpoint)) return self.failed_(endpoint, status);
  self.messenger_.after_poll([&self, endpoint] { self.close(endpoint, true); });
}

void Endpoints::stop_listening() {
  if (listener_ != nullptr) ucp_listener_destroy(listener_);
  for (const ucp_ep_h endpoint : called_.take_all()) close(endpoint, true);
}

void Endpoints::close(Peer& peer, bool by_force) {
  if (peer.endpoint == nullptr) return;
  const bool may_force =
      fabric_.transport() == Transport::verbs || !(peer.parts.process == fabric_.name());
  close(std::exchange(peer.endpoint, nullptr), by_force && may_force);
}

void Endpoints::close(ucp_ep_h endpoint, bool by_force) {
  ucp_request_param_t param = closing_param();
  param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = by_force ? UCP_EP_CLOSE_FLAG_FORCE : 0;
  if (UCS_PTR_IS_PTR(ucp_ep_close_nbx(endpoint, &param))) closing_++;
}

void Endpoints::let_out(ucp_ep_h endpoint) {
  const ucp_request_param_t param = closing_param();
  if (UCS_PTR_IS_PTR(ucp_ep_flush_nbx(endpoint, &param))) closing_++;
}

ucp_request_param_t Endpoints::closing_param() {
  ucp_request_param_t param;
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.user_data = this;
  param.cb.send = [](void* request, ucs_status_t, void* endpoints) {
    ucp_request_free(request);
    static_cast<Endpoints*>(endpoints)->closing_--;
  };
  return param;
}

}  // namespace iw::fabric
