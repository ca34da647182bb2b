// The factory's own part: Active Messages and the name server begin and end with it.
#include "interweave/am.h"
#include "interweave/containers/active.hpp"

namespace iw::containers {

Factory::Factory(const char* name_server) {
  int result = AM_Init();
  if (result != AM_OK) throw ContainerError(std::string("AM_Init: ") + AM_StrError(result));
  result = AMNS_Init(name_server);
  if (result == AM_OK) return;
  AM_Terminate();
  throw ContainerError(std::string("AMNS_Init: ") + AM_StrError(result));
}

Factory::~Factory() { AM_Terminate(); }

}  // namespace iw::containers
