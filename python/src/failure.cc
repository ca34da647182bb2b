#include "failure.h"

#include <nanobind/stl/string.h>

namespace iwpy {
namespace {

PyObject* maker = nullptr;

void raise(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Failure& failure) {
    const nb::object made = nb::borrow(maker)(failure.code, failure.text);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  }
}

}  // namespace

void set_exception_maker(nb::object make) { maker = make.release().ptr(); }

void register_translator() { nb::register_exception_translator(raise, nullptr); }

}  // namespace iwpy
