// The factory's own part: Active Messages and the name server begin and end with it.
#include "am/library.h"
#include "interweave/am.h"
#include "interweave/containers/active.hpp"

namespace iw::containers {
namespace {

std::string why_not_met(int result) {
  if (result == AM_ERR_BAD_ARG) return am::why_no_name_server();
  return std::string("the name server is not reached: ") + AM_StrError(result);
}

}  // namespace

Factory::Factory(const char* name_server) {
  int result = AM_Init();
  if (result != AM_OK) throw ContainerError(std::string("AM_Init: ") + AM_StrError(result));
  result = AMNS_Init(name_server);
  if (result == AM_OK) return;
  AM_Terminate();
  throw ContainerError(why_not_met(result));
}

Factory::~Factory() { AM_Terminate(); }

}  // namespace iw::containers
