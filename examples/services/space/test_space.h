// Tests of the services with real processes: one founds the space, the test joins it.
#pragma once

#include <string>

#include "testing/children.h"

namespace services {

// A child that says its space's address first and ends when it hears "end".
class Founder {
 public:
  explicit Founder(const std::string& role) : child_(role), address_(child_.line().hear_text()) {}
  // One that is told something first.
  Founder(const std::string& role, const std::string& told) : child_(role) {
    child_.line().say(told);
    address_ = child_.line().hear_text();
  }
  ~Founder() {
    child_.line().say(std::string("end"));
    child_.wait_for_end();
  }
  Founder(const Founder&) = delete;
  Founder& operator=(const Founder&) = delete;
  const std::string& address() const { return address_; }
  const iw::testing::Child& child() const { return child_; }

 private:
  iw::testing::Child child_;
  std::string address_;
};

}  // namespace services
