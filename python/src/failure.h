// Failures of the library as Python exceptions, and the lock of the interpreter around its calls.
//
// A call that may wait, for the network or for another thread, is made without the interpreter's
// lock; the thread's last failure is read before anything else is called.
#pragma once

#include <interweave.h>
#include <nanobind/nanobind.h>

#include <string>

namespace iwpy {

namespace nb = nanobind;

// A failed call: becomes interweave.Error or the subclass of its code.
struct Failure {
  int code = 0;
  std::string text;
  // The calling thread's last failure.
  static Failure last() { return {IW_errno(), IW_strerror()}; }
};

// Sets the function `make(code, text)` that returns the Python exception for a failure.
void set_exception_maker(nb::object make);
void register_translator();

// Calls without the interpreter's lock; a negative result is thrown.
template <typename Call>
void waiting(Call&& call) {
  Failure failure;
  {
    nb::gil_scoped_release others_run;
    if (call() < 0) failure = Failure::last();
  }
  if (failure.code != 0) throw failure;
}

// For a function that returns NULL on failure.
template <typename Call>
auto waiting_for(Call&& call) {
  decltype(call()) found{};
  waiting([&] {
    found = call();
    return found == nullptr ? -1 : 0;
  });
  return found;
}

}  // namespace iwpy
