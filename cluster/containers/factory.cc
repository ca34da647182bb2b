// The factory's own part: Active Messages and the name server begin and end with it.
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "interweave/am.h"
#include "interweave/containers/active.hpp"

namespace iw::containers {
namespace {

// AMNS_Init has a number for it only.
std::string why_no_name_server(const char* named, int result) {
  if (named == nullptr) named = std::getenv("IW_AMNS");
  if (named == nullptr) return "no name server is named: set IW_AMNS=NAME or file:FILE";
  const std::string name = named, file_prefix = "file:";
  if (result != AM_ERR_BAD_ARG) {
    return "the name server " + name + " is not reached: " + AM_StrError(result);
  }
  if (!name.starts_with(file_prefix)) return "'" + name + "' is no name server's name";
  const std::string path = name.substr(file_prefix.size());
  if (!std::ifstream(path)) {
    return "the name server's file " + path +
           " cannot be read: " + std::generic_category().message(errno);
  }
  return "the file " + path + " holds no name server's name";
}

}  // namespace

Factory::Factory(const char* name_server) {
  int result = AM_Init();
  if (result != AM_OK) throw ContainerError(std::string("AM_Init: ") + AM_StrError(result));
  result = AMNS_Init(name_server);
  if (result == AM_OK) return;
  AM_Terminate();
  throw ContainerError(why_no_name_server(name_server, result));
}

Factory::~Factory() { AM_Terminate(); }

}  // namespace iw::containers
