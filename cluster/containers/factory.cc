// A factory begins and ends Active Messages and the use of the name server.
#include "am/library.h"
#include "interweave/am.h"
#include "interweave/containers/active.hpp"

namespace iw::containers {

Factory::Factory(const char* name_server) {
  int result = AM_Init();
  if (result != AM_OK) throw ContainerError(std::string("AM_Init: ") + AM_StrError(result));
  std::string why;
  result = am::find_name_server(name_server, &why);
  if (result == AM_OK) return;
  AM_Terminate();
  if (why.empty()) why = std::string("the name server is not reached: ") + AM_StrError(result);
  throw ContainerError(why);
}

Factory::~Factory() { AM_Terminate(); }

void Factory::check(const std::string& name, const StandardContainer* object) {
  if (name.find('\0') != std::string::npos) {
    throw ContainerError("a container's name has no zero byte: " + std::string(name.c_str()));
  }
  if (object == nullptr) throw ContainerError("the container " + name + " is given no object");
}

}  // namespace iw::containers
