// The called program, whatever carries the call. Failures of the transport and of the called
// program are std::runtime_error.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "caller/part_copy.h"
#include "service.h"

namespace stock {

class Callee {
 public:
  Callee() = default;
  virtual ~Callee() = default;
  Callee(const Callee&) = delete;
  Callee& operator=(const Callee&) = delete;

  // By reference: `root_mip` leads to the parts.
  virtual receipt restock(const std::string& root_mip, const restock_order& order) = 0;
  virtual receipt introduce(const std::string& root_mip, int number, double price,
                            const std::string& name) = 0;
  // By copy: all parts travel there and back. `parts` becomes what came back.
  virtual receipt restock_copy(PartCopy& parts, const restock_order& order) = 0;
  // On the connection, both ways, from its beginning; what TCP adds is not counted.
  [[nodiscard]] virtual std::uint64_t bytes() const = 0;
};

// HOST:PORT is a Sun RPC server, http://HOST:PORT a web server.
std::unique_ptr<Callee> connect(const std::string& address);

}  // namespace stock
