// How access messages are sent, and what arrives is taken apart: in one piece if it is small, else
// as what its kind begins with and the bytes after it.
#include "fabric/access_messages.h"

#include <cstring>
#include <utility>

#include "fabric/ucx_worker.h"

namespace iw::fabric {
namespace {

template <typename Head>
bool take_apart(Bytes header, Bytes data, Head* head, Bytes* rest) {
  const bool is_one_piece = header.empty();
  if (is_one_piece) std::swap(header, data);
  if (header.size() < sizeof *head || (!is_one_piece && header.size() > sizeof *head)) return false;
  std::memcpy(head, header.data(), sizeof *head);
  *rest = is_one_piece ? header.subspan(sizeof *head) : data;
  return true;
}

}  // namespace

// What is not taken while the worker progresses comes from itself, which asks itself nothing.
ucs_status_t UcxWorker::on_request(void* worker, const void* header, std::size_t header_length,
                                   void* data, std::size_t length,
                                   const ucp_am_recv_param_t* param) {
  auto& self = *static_cast<UcxWorker*>(worker);
  self.lock_.assert_held();
  Request request;
  Bytes rest;
  const bool is_sound =
      self.messenger_.is_polling() && (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0 &&
      take_apart(Bytes(static_cast<const std::byte*>(header), header_length),
                 Bytes(static_cast<const std::byte*>(data), length), &request, &rest);
  if (is_sound) self.answerer_.take(request, rest);
  return UCS_OK;
}

ucs_status_t UcxWorker::on_answer(void* worker, const void* header, std::size_t header_length,
                                  void* data, std::size_t length,
                                  const ucp_am_recv_param_t* param) {
  auto& self = *static_cast<UcxWorker*>(worker);
  self.lock_.assert_held();
  Answer answer;
  Bytes rest;
  const bool is_sound =
      self.messenger_.is_polling() && (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0 &&
      take_apart(Bytes(static_cast<const std::byte*>(header), header_length),
                 Bytes(static_cast<const std::byte*>(data), length), &answer, &rest);
  if (is_sound) self.asker_.take(answer, rest);
  return UCS_OK;
}

}  // namespace iw::fabric
