// The name of a container, which one writer has at a time.
//
// The name server gives a name to one process at a time, whatever writer of it asks; of a process's
// writers one at a time asks. Where the server does not answer, the name may come to be this one's
// all the same, so it stays taken in the process until the server has said how it is.
#pragma once

#include <string>

#include "interweave/am.h"

namespace iw::containers {

class HeldName {
 public:
  HeldName(std::string name, const en_t& endpoint) : name_(std::move(name)), endpoint_(endpoint) {}
  ~HeldName();
  HeldName(const HeldName&) = delete;
  HeldName& operator=(const HeldName&) = delete;

  // AM_OK; AM_ERR_IN_USE: another writer's; AM_ERR_NOT_SENT: the name server does not answer.
  int take();
  // The same, without AM_ERR_IN_USE.
  int give_up();

 private:
  const std::string name_;
  const en_t endpoint_;
  bool is_asked_for_ = false;
};

}  // namespace iw::containers
