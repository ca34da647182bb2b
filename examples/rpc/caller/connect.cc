#include "caller/callee.h"
#include "caller/http_callee.h"
#include "caller/sun_rpc_callee.h"

namespace stock {

std::unique_ptr<Callee> connect(const std::string& address) {
  if (address.starts_with("http://")) return std::make_unique<HttpCallee>(address);
  return std::make_unique<SunRpcCallee>(address);
}

}  // namespace stock
