// The name of a container, which one writer has at a time.
//
// The name server gives a name to one process at a time, without regard to the process's writers.
// So only one writer of a process may ask for a name at a time. If the server does not answer, it
// may still give the name later. So the name stays taken in the process until the server has
// answered.
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

  // AM_OK. AM_ERR_IN_USE: another writer has the name. AM_ERR_NOT_SENT: the name server does not
  // answer.
  int take();
  // AM_OK, or AM_ERR_NOT_SENT.
  int give_up();

 private:
  const std::string name_;
  const en_t endpoint_;
  bool is_asked_for_ = false;
};

}  // namespace iw::containers
