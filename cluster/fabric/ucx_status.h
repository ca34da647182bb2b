// The transport library's results, in this room's words.
#pragma once

#include <ucp/api/ucp.h>

#include "fabric/fabric.h"

namespace iw::fabric {

inline Status to_status(ucs_status_t status) {
  switch (status) {
    case UCS_OK:
      return Status::ok;
    case UCS_INPROGRESS:
      return Status::pending;
    case UCS_ERR_NO_MEMORY:
      return Status::no_memory;
    case UCS_ERR_INVALID_PARAM:
      return Status::bad_argument;
    case UCS_ERR_UNREACHABLE:
    case UCS_ERR_NO_DEVICE:
      return Status::unreachable;
    case UCS_ERR_ENDPOINT_TIMEOUT:
    case UCS_ERR_CONNECTION_RESET:
    case UCS_ERR_NOT_CONNECTED:
    case UCS_ERR_REJECTED:
    case UCS_ERR_CANCELED:
      return Status::peer_dead;
    default:
      return Status::failed;
  }
}

}  // namespace iw::fabric
