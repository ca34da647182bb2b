// The extension module interweave._core: the C interface as Python's package uses it. Programs use
// the package, not this.
#include "failure.h"
#include "place.h"
#include "segment.h"
#include "tables.h"

NB_MODULE(_core, module) {
  // Objects that live until the interpreter ends are not leaks.
  nanobind::set_leak_warnings(false);
  iwpy::register_translator();
  module.def("set_exception_maker", &iwpy::set_exception_maker, nanobind::arg("make"));
  iwpy::bind_segment(module);
  iwpy::bind_place(module);
  iwpy::bind_tables(module);
}
