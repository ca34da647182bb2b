// Which transports the tests go over: IW_TEST_FABRIC names the one and only, where this machine has
// another than usual (make/test_rdma.sh).
#pragma once

#include <cstdlib>
#include <vector>

namespace iw::testing {

inline std::vector<const char*> transports(std::vector<const char*> usual) {
  const char* only = std::getenv("IW_TEST_FABRIC");
  return only != nullptr ? std::vector{only} : usual;
}

}  // namespace iw::testing
