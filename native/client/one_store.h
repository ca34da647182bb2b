// Whether two servers share a store, so that a path names one segment at both [SPACE-60].
#pragma once

#include <cstdint>
#include <memory>

#include "client/server_link.h"

namespace iw::client {

// Asks both. An error: one of them could not be asked. The links of both stay meanwhile.
Result share_store(const std::shared_ptr<Live>& one, const std::shared_ptr<Live>& other,
                   std::int64_t deadline_ns, bool& out);

}  // namespace iw::client
