#include "place.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

namespace iwpy {
namespace {

std::byte* pointer_of(std::uintptr_t address) { return reinterpret_cast<std::byte*>(address); }

IW_block_t describe(const State* state, const void* place) {
  IW_block_t block{};
  block.size = sizeof block;
  if (IW_describe_block(state->handle, place, &block) != 0) throw Failure::last();
  return block;
}

template <typename T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// A float's bits as a double's and back. The processor's own conversion would make a signalling NaN
// a quiet one.
double widened(float value) {
  if (!std::isnan(value)) return value;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint64_t sign = std::uint64_t{bits >> 31} << 63;
  return std::bit_cast<double>(sign | std::uint64_t{0x7ff} << 52 |
                               std::uint64_t{bits & 0x7fffff} << 29);
}

float narrowed(double value) {
  if (!std::isnan(value)) return static_cast<float>(value);
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto payload = static_cast<std::uint32_t>(bits >> 29 & 0x7fffff);
  // A NaN whose payload lies in the bits that are lost stays a NaN.
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 63) << 31 | 0x7f800000U |
                              (payload == 0 ? 0x400000U : payload));
}

template <typename T>
nb::object number_at(const std::byte* from) {
  const T value = read<T>(from);
  if constexpr (std::is_same_v<T, float>) {
    return nb::steal(PyFloat_FromDouble(widened(value)));
  } else if constexpr (std::is_floating_point_v<T>) {
    return nb::steal(PyFloat_FromDouble(value));
  } else if constexpr (std::is_signed_v<T>) {
    return nb::steal(PyLong_FromLongLong(value));
  } else {
    return nb::steal(PyLong_FromUnsignedLongLong(value));
  }
}

template <typename T>
void store_number(std::byte* to, nb::handle value) {
  T stored{};
  if constexpr (std::is_floating_point_v<T>) {
    const double number = PyFloat_AsDouble(value.ptr());
    if (number == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
    if constexpr (std::is_same_v<T, float>) {
      stored = narrowed(number);
    } else {
      stored = number;
    }
  } else {
    const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
    if (!index.is_valid()) throw nb::python_error();
    bool fits = true;
    if constexpr (std::is_signed_v<T>) {
      int overflow = 0;
      const long long number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
      fits = overflow == 0 && number >= std::numeric_limits<T>::min() &&
             number <= std::numeric_limits<T>::max();
      stored = static_cast<T>(number);
    } else {
      const unsigned long long number = PyLong_AsUnsignedLongLong(index.ptr());
      fits = PyErr_Occurred() == nullptr && number <= std::numeric_limits<T>::max();
      PyErr_Clear();
      stored = static_cast<T>(number);
    }
    if (!fits) {
      PyErr_Format(PyExc_OverflowError, "%R does not fit into %s%d bits", index.ptr(),
                   std::is_signed_v<T> ? "" : "unsigned ", static_cast<int>(sizeof(T) * 8));
      throw nb::python_error();
    }
  }
  std::memcpy(to, &stored, sizeof stored);
}

nb::bytes until_nul(const std::byte* from, std::size_t bytes) {
  const void* const end = bytes == 0 ? nullptr : std::memchr(from, 0, bytes);
  const std::size_t used =
      end == nullptr ? bytes : static_cast<std::size_t>(static_cast<const std::byte*>(end) - from);
  return nb::bytes(reinterpret_cast<const char*>(from), used);
}

int get_buffer(PyObject* object, Py_buffer* view, int flags) {
  const auto* const memory = nb::inst_ptr<Memory>(object);
  return PyBuffer_FillInfo(view, object, memory->address(),
                           static_cast<Py_ssize_t>(memory->bytes()), memory->is_writable() ? 0 : 1,
                           flags);
}

PyType_Slot memory_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)}, {0, nullptr}};

// (place, address of the block, type, count, serial, is owned, is reserved, name)
nb::tuple describe_block(const Segment& segment, std::uintptr_t address) {
  need_lock(segment.state());
  const IW_block_t block = describe(segment.state(), pointer_of(address));
  auto* const begin = static_cast<std::byte*>(block.address);
  const Place place(segment.state(), pointer_of(address), block.serial,
                    block.is_reserved != 0 ? 0 : segment.state()->epoch.load());
  return nb::make_tuple(
      place, reinterpret_cast<std::uintptr_t>(begin), reinterpret_cast<std::uintptr_t>(block.type),
      block.count, block.serial, block.is_owned != 0, block.is_reserved != 0,
      nb::steal(PyUnicode_DecodeUTF8(block.name, static_cast<Py_ssize_t>(std::strlen(block.name)),
                                     nullptr)));
}

std::uintptr_t next_block(const Segment& segment, std::uintptr_t after) {
  need_lock(segment.state());
  const void* const found = IW_next_block(segment.state()->handle, pointer_of(after));
  return reinterpret_cast<std::uintptr_t>(found);
}

std::uintptr_t allocate(const Segment& segment, std::uintptr_t type, std::size_t count,
                        const std::optional<std::string>& name) {
  need_writer_lock(segment.state());
  return reinterpret_cast<std::uintptr_t>(waiting_for([&] {
    return IW_malloc_array(segment.state()->handle, reinterpret_cast<IW_type_t>(type), count,
                           name ? name->c_str() : nullptr);
  }));
}

void free_block(const Segment& segment, std::uintptr_t block) {
  need_writer_lock(segment.state());
  waiting([&] { return IW_free(segment.state()->handle, pointer_of(block)); });
  segment.state()->epoch.fetch_add(1);
}

std::string mip_of(std::uintptr_t address) {
  const IW_mip_t mip = IW_ptr_to_mip(pointer_of(address));
  if (mip == nullptr) throw Failure::last();
  const std::string text = mip;
  IW_mip_free(mip);
  return text;
}

std::uintptr_t address_of_mip(const std::string& mip) {
  return reinterpret_cast<std::uintptr_t>(waiting_for([&] { return IW_mip_to_ptr(mip.c_str()); }));
}

}  // namespace

Memory::Memory(const State* state, std::byte* address, std::size_t bytes, bool writable)
    : address_(address), bytes_(bytes), writable_(writable) {
  if (bytes == 0) return;
  pin_ = IW_pin(state->handle, address);
  if (pin_ == nullptr) throw Failure::last();
}

Memory::~Memory() { IW_unpin(pin_); }

void Place::check() {
  need_lock(state_);
  const std::uint64_t now = state_->epoch.load();
  if (epoch_ == now) return;
  IW_block_t block{};
  block.size = sizeof block;
  const bool is_there = IW_describe_block(state_->handle, address_, &block) == 0 &&
                        block.serial == serial_ && block.is_reserved == 0;
  if (!is_there) {
    throw Failure{IW_ENO_BLOCK, "block " + std::to_string(serial_) +
                                    ", which this refers to, is not in the segment [NO_BLOCK]"};
  }
  epoch_ = now;
}

void Place::check_writable() {
  need_writer_lock(state_);
  check();
}

Place Place::at(std::size_t offset) const {
  Place other = *this;
  other.address_ += offset;
  return other;
}

nb::object Place::load(std::size_t offset, int primitive) {
  check();
  const std::byte* const from = address_ + offset;
  switch (primitive) {
    case IW_PRIMITIVE_CHAR:
      return number_at<std::int8_t>(from);
    case IW_PRIMITIVE_UCHAR:
      return number_at<std::uint8_t>(from);
    case IW_PRIMITIVE_SHORT:
      return number_at<std::int16_t>(from);
    case IW_PRIMITIVE_USHORT:
      return number_at<std::uint16_t>(from);
    case IW_PRIMITIVE_INT:
      return number_at<std::int32_t>(from);
    case IW_PRIMITIVE_UINT:
      return number_at<std::uint32_t>(from);
    case IW_PRIMITIVE_HYPER:
      return number_at<std::int64_t>(from);
    case IW_PRIMITIVE_UHYPER:
      return number_at<std::uint64_t>(from);
    case IW_PRIMITIVE_FLOAT:
      return number_at<float>(from);
    case IW_PRIMITIVE_DOUBLE:
      return number_at<double>(from);
    case IW_PRIMITIVE_BOOL:
      return nb::bool_(read<IW_bool_t>(from) != 0);
    default:
      throw Failure{IW_EINTERNAL, "no such primitive [INTERNAL]"};
  }
}

void Place::store(std::size_t offset, int primitive, nb::handle value) {
  check_writable();
  std::byte* const to = address_ + offset;
  switch (primitive) {
    case IW_PRIMITIVE_CHAR:
      return store_number<std::int8_t>(to, value);
    case IW_PRIMITIVE_UCHAR:
      return store_number<std::uint8_t>(to, value);
    case IW_PRIMITIVE_SHORT:
      return store_number<std::int16_t>(to, value);
    case IW_PRIMITIVE_USHORT:
      return store_number<std::uint16_t>(to, value);
    case IW_PRIMITIVE_INT:
      return store_number<std::int32_t>(to, value);
    case IW_PRIMITIVE_UINT:
      return store_number<std::uint32_t>(to, value);
    case IW_PRIMITIVE_HYPER:
      return store_number<std::int64_t>(to, value);
    case IW_PRIMITIVE_UHYPER:
      return store_number<std::uint64_t>(to, value);
    case IW_PRIMITIVE_FLOAT:
      return store_number<float>(to, value);
    case IW_PRIMITIVE_DOUBLE:
      return store_number<double>(to, value);
    case IW_PRIMITIVE_BOOL: {
      if (PyNumber_Check(value.ptr()) == 0 || PyFloat_Check(value.ptr()) != 0) {
        PyErr_Format(PyExc_TypeError, "a bool was expected, not %R", value.ptr());
        throw nb::python_error();
      }
      const int is_true = PyObject_IsTrue(value.ptr());
      if (is_true < 0) throw nb::python_error();
      const IW_bool_t stored = is_true;
      std::memcpy(to, &stored, sizeof stored);
      return;
    }
    default:
      throw Failure{IW_EINTERNAL, "no such primitive [INTERNAL]"};
  }
}

nb::bytes Place::load_string(std::size_t offset, std::size_t bytes) {
  check();
  return until_nul(address_ + offset, bytes);
}

void Place::store_string(std::size_t offset, std::size_t bytes, const nb::bytes& text) {
  check_writable();
  if (text.size() >= bytes || std::memchr(text.c_str(), 0, text.size()) != nullptr) {
    throw Failure{IW_EBAD_VALUE, "a string of " + std::to_string(text.size()) +
                                     " bytes does not fit, or has a NUL in it; there is room for " +
                                     std::to_string(bytes - 1) + " [BAD_VALUE]"};
  }
  std::memset(address_ + offset, 0, bytes);
  std::memcpy(address_ + offset, text.c_str(), text.size());
}

void Place::clear(std::size_t offset, std::size_t bytes) {
  check_writable();
  std::memset(address_ + offset, 0, bytes);
}

std::uintptr_t Place::load_pointer(std::size_t offset) {
  check();
  return read<std::uintptr_t>(address_ + offset);
}

void Place::store_pointer(std::size_t offset, std::uintptr_t to) {
  check_writable();
  std::memcpy(address_ + offset, &to, sizeof to);
}

nb::tuple Place::load_sequence(std::size_t offset) {
  check();
  const auto value = read<IW_sequence_t>(address_ + offset);
  return nb::make_tuple(value.len, reinterpret_cast<std::uintptr_t>(value.val));
}

nb::bytes Place::load_text(std::size_t offset) {
  check();
  const auto* const from = read<const std::byte*>(address_ + offset);
  if (from == nullptr) return nb::bytes("", 0);
  const IW_block_t block = describe(state_, from);
  return until_nul(from, block.count * block.type->size);
}

// `values`: None for zeros, or something with the buffer protocol.
void Place::assign(std::size_t offset, nb::handle values, std::size_t count) {
  check_writable();
  Py_buffer view{};
  if (!values.is_none() && PyObject_GetBuffer(values.ptr(), &view, PyBUF_C_CONTIGUOUS) != 0) {
    throw nb::python_error();
  }
  Failure failure;
  {
    nb::gil_scoped_release others_run;
    if (IW_assign(state_->handle, address_ + offset, view.buf, count) != 0) {
      failure = Failure::last();
    }
  }
  if (view.obj != nullptr) PyBuffer_Release(&view);
  if (failure.code != 0) throw failure;
  const_cast<State*>(state_)->epoch.fetch_add(1);  // the value before is freed
}

nb::object Place::memory(std::size_t offset, std::size_t bytes) {
  check();
  const bool is_writable = holds_of(state_)->writes > 0;
  return nb::cast(new Memory(state_, address_ + offset, bytes, is_writable),
                  nb::rv_policy::take_ownership);
}

void bind_place(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Memory>(module, "Memory", nb::type_slots(memory_slots))
      .def("end_writing", &Memory::end_writing);
  nb::class_<Place>(module, "Place")
      .def("check", &Place::check)
      .def("check_writable", &Place::check_writable)
      .def("at", &Place::at, "offset"_a)
      .def_prop_ro("address", &Place::address)
      .def_prop_ro("serial", &Place::serial)
      .def("load", &Place::load, "offset"_a, "primitive"_a)
      .def("store", &Place::store, "offset"_a, "primitive"_a, "value"_a.none())
      .def("load_string", &Place::load_string, "offset"_a, "bytes"_a)
      .def("store_string", &Place::store_string, "offset"_a, "bytes"_a, "text"_a)
      .def("clear", &Place::clear, "offset"_a, "bytes"_a)
      .def("load_pointer", &Place::load_pointer, "offset"_a)
      .def("store_pointer", &Place::store_pointer, "offset"_a, "to"_a)
      .def("load_sequence", &Place::load_sequence, "offset"_a)
      .def("load_text", &Place::load_text, "offset"_a)
      .def("assign", &Place::assign, "offset"_a, "values"_a.none(), "count"_a)
      .def("memory", &Place::memory, "offset"_a, "bytes"_a);
  // The first access checks the place, because the segment may not be locked now.
  module.def(
      "place_at",
      [](const Segment& segment, std::uintptr_t address, std::uint64_t serial) {
        return Place(segment.state(), pointer_of(address), serial, 0);
      },
      "segment"_a, "address"_a, "serial"_a);
  module.def("describe_block", &describe_block, "segment"_a, "address"_a);
  module.def("next_block", &next_block, "segment"_a, "after"_a);
  module.def("allocate", &allocate, "segment"_a, "type"_a, "count"_a, "name"_a.none());
  module.def("free_block", &free_block, "segment"_a, "block"_a);
  module.def("mip_of", &mip_of, "address"_a);
  module.def("address_of_mip", &address_of_mip, "mip"_a);
}

}  // namespace iwpy
