// interweave.hpp -- C++ over the C interface: segments and locks that release themselves, typed
// allocation, failures as exceptions. Header only. <interweave.h> says what holds of threads,
// errors and units.
//
//   iw::Segment list("127.0.0.1/list");
//   {
//     iw::WriteLock lock(list);
//     node_t* head = iw::make<node_t>(list, "head");
//     head->key = 1;
//     lock.release();                 // commits; without it the changes are undone
//   }
//   iw::ReadLock lock(list);
//   const auto* head = list.find<node_t>("head");   // throws if the block is of another type
#pragma once

#include <interweave.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace iw {

// Specialised by generated headers (interweave compile --lang cpp): static IW_type_t get().
template <typename T>
struct type_of;

#define IW_TYPE_OF_PRIMITIVE(type, descriptor)    \
  template <>                                     \
  struct type_of<type> {                          \
    static IW_type_t get() { return descriptor; } \
  }
IW_TYPE_OF_PRIMITIVE(char, IW_char);
IW_TYPE_OF_PRIMITIVE(unsigned char, IW_uchar);
IW_TYPE_OF_PRIMITIVE(short, IW_short);
IW_TYPE_OF_PRIMITIVE(unsigned short, IW_ushort);
IW_TYPE_OF_PRIMITIVE(int, IW_int);
IW_TYPE_OF_PRIMITIVE(unsigned int, IW_uint);
IW_TYPE_OF_PRIMITIVE(long long, IW_hyper);
IW_TYPE_OF_PRIMITIVE(unsigned long long, IW_uhyper);
IW_TYPE_OF_PRIMITIVE(float, IW_float);
IW_TYPE_OF_PRIMITIVE(double, IW_double);
IW_TYPE_OF_PRIMITIVE(bool, IW_bool);
#undef IW_TYPE_OF_PRIMITIVE

namespace detail {
// std::int64_t where it is `long`. Where it is `long long`, which is specialised above, a type that
// no program uses.
struct no_long {};
struct no_unsigned_long {};
using long_of_64_bits =
    std::conditional_t<std::is_same_v<std::int64_t, long long>, no_long, std::int64_t>;
using unsigned_long_of_64_bits =
    std::conditional_t<std::is_same_v<std::uint64_t, unsigned long long>, no_unsigned_long,
                       std::uint64_t>;
}  // namespace detail

template <>
struct type_of<detail::long_of_64_bits> {
  static IW_type_t get() { return IW_hyper; }
};
template <>
struct type_of<detail::unsigned_long_of_64_bits> {
  static IW_type_t get() { return IW_uhyper; }
};

// The type of a T in a block's memory: XDR's bool has four bytes.
template <typename T>
using stored_t =
    std::conditional_t<std::is_same_v<std::remove_cv_t<T>, bool>,
                       std::conditional_t<std::is_const_v<T>, const IW_bool_t, IW_bool_t>, T>;

// A call that failed: its code (a negative IW_E...) and text.
class Error : public std::runtime_error {
 public:
  Error(int code, const std::string& text) : std::runtime_error(text), code_(code) {}
  // The calling thread's last failure.
  static Error last() { return {IW_errno(), IW_strerror()}; }
  [[nodiscard]] int code() const { return code_; }

 private:
  int code_;
};

// An open segment. The destructor closes it.
class Segment {
 public:
  explicit Segment(const std::string& url) : handle_(IW_open_segment(url.c_str())), url_(url) {
    if (handle_ == nullptr) throw Error::last();
  }
  // `options.size` is filled in.
  Segment(const std::string& url, IW_open_options options) : url_(url) {
    options.size = sizeof options;
    handle_ = IW_open_segment_with(url.c_str(), &options);
    if (handle_ == nullptr) throw Error::last();
  }
  ~Segment() {
    if (handle_ != nullptr) IW_close_segment(handle_);
  }
  Segment(Segment&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), url_(std::move(other.url_)) {}
  Segment& operator=(Segment&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(url_, other.url_);
    return *this;
  }
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  [[nodiscard]] IW_handle_t handle() const { return handle_; }
  [[nodiscard]] std::uint64_t version() const { return IW_version(handle_); }

  void set_coherence(IW_coherence_t model, double x = 0) {
    if (IW_set_coherence(handle_, model, x) != 0) throw Error::last();
  }
  void refresh() {
    if (IW_refresh(handle_) != 0) throw Error::last();
  }
  // The block with this name; null if the segment does not have it. The block's values, or the
  // elements of the arrays that they are, must be at least `count` values of type T. Otherwise the
  // call throws an Error (IW_ETYPE_CONFLICT, IW_EBAD_ARGUMENT). T = void accepts a block of any
  // type. If the thread holds no lock, the call takes a reader lock while it looks.
  template <typename T>
  [[nodiscard]] stored_t<T>* find(const std::string& name, std::size_t count = 1) const {
    const std::string mip = url_ + "#" + name;
    void* found = place_of(mip);
    if constexpr (!std::is_void_v<T>) {
      if (found == nullptr) return nullptr;
      IW_block_t block{};
      block.size = sizeof block;
      int looked = IW_describe_block(handle_, found, &block);
      if (looked == IW_ENO_LOCK) {
        if (IW_rl_acquire(handle_) != 0) throw Error::last();
        found = IW_mip_to_ptr(mip.c_str());
        looked = found == nullptr ? IW_errno() : IW_describe_block(handle_, found, &block);
        const Error why = looked == 0 ? Error(0, {}) : Error::last();
        IW_rl_release(handle_);
        if (looked == IW_ENO_BLOCK) return nullptr;
        if (looked != 0) throw why;
      } else if (looked != 0) {
        throw Error::last();
      }
      check_block(block, mip, type_of<std::remove_cv_t<T>>::get(), count);
    }
    return static_cast<stored_t<T>*>(found);
  }
  void free(void* block) {
    if (IW_free(handle_, block) != 0) throw Error::last();
  }

 private:
  static void* place_of(const std::string& mip) {
    void* const found = IW_mip_to_ptr(mip.c_str());
    if (found == nullptr && IW_errno() != IW_ENO_BLOCK) throw Error::last();
    return found;
  }
  // A type may have tables at several addresses. IW_laid_out gives the one that blocks have.
  static void check_block(const IW_block_t& block, const std::string& mip, IW_type_t wanted,
                          std::size_t count) {
    const IW_type_t table = IW_laid_out(wanted);
    if (table == nullptr) throw Error::last();
    IW_type_t here = block.type;
    std::size_t values = block.count;
    while (here != nullptr && here != table && here->kind == IW_KIND_ARRAY) {
      values *= here->count;
      here = IW_laid_out(here->element);
    }
    if (here != table) {
      throw Error(IW_ETYPE_CONFLICT, mip + ": the block is of type " + name_of(block.type) +
                                         ", and was asked for as " + name_of(table) +
                                         " [TYPE_CONFLICT]");
    }
    if (values < count) {
      throw Error(IW_EBAD_ARGUMENT, mip + ": the block has " + std::to_string(values) +
                                        " values, and " + std::to_string(count) +
                                        " were asked for [BAD_ARGUMENT]");
    }
  }
  static std::string name_of(IW_type_t type) {
    static constexpr const char* primitives[] = {"?",      "char",  "uchar",  "short",
                                                 "ushort", "int",   "uint",   "hyper",
                                                 "uhyper", "float", "double", "bool"};
    if (type->name != nullptr && *type->name != '\0') return type->name;
    const bool is_primitive = type->kind == IW_KIND_PRIMITIVE && type->primitive >= 1 &&
                              type->primitive <= IW_PRIMITIVE_BOOL;
    if (is_primitive) return primitives[type->primitive];
    if (type->kind != IW_KIND_ARRAY) return "another kind";
    return name_of(type->element) + "[" + std::to_string(type->count) + "]";
  }

  IW_handle_t handle_ = nullptr;
  std::string url_;
};

// A reader lock, held until the end of the scope.
class ReadLock {
 public:
  explicit ReadLock(const Segment& segment) : handle_(segment.handle()) {
    if (IW_rl_acquire(handle_) != 0) throw Error::last();
  }
  // Returns nothing if the lock is not granted within `seconds`. Throws other failures.
  static std::optional<ReadLock> try_for(const Segment& segment, double seconds, int flags = 0) {
    if (IW_rl_acquire_for(segment.handle(), seconds, flags) == 0) {
      return ReadLock(segment.handle());
    }
    if (IW_errno() != IW_ETIMED_OUT) throw Error::last();
    return std::nullopt;
  }
  ~ReadLock() {
    if (handle_ != nullptr) IW_rl_release(handle_);
  }
  ReadLock(ReadLock&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  ReadLock& operator=(ReadLock&&) = delete;

 private:
  explicit ReadLock(IW_handle_t held) : handle_(held) {}
  IW_handle_t handle_;
};

// The writer lock. release() commits. A scope that ends without release(), for example by an
// exception, undoes the changes.
class WriteLock {
 public:
  explicit WriteLock(const Segment& segment) : handle_(segment.handle()) {
    if (IW_wl_acquire(handle_) != 0) throw Error::last();
  }
  static std::optional<WriteLock> try_for(const Segment& segment, double seconds) {
    if (IW_wl_acquire_for(segment.handle(), seconds) == 0) return WriteLock(segment.handle());
    if (IW_errno() != IW_ETIMED_OUT) throw Error::last();
    return std::nullopt;
  }
  ~WriteLock() {
    if (handle_ != nullptr) IW_wl_abort(handle_);
  }
  WriteLock(WriteLock&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  WriteLock& operator=(WriteLock&&) = delete;

  // Commits. If the call throws, the destructor aborts a lock that is still held.
  void release() {
    if (IW_wl_release(handle_) != 0) throw Error::last();
    handle_ = nullptr;
  }
  void abort() { IW_wl_abort(std::exchange(handle_, nullptr)); }

 private:
  explicit WriteLock(IW_handle_t held) : handle_(held) {}
  IW_handle_t handle_;
};

// Allocates a block of `count` values, all zero. REQUIRES: the writer lock. `name` may be empty.
template <typename T>
stored_t<T>* make(const Segment& segment, const std::string& name = {}, std::size_t count = 1) {
  void* const block = IW_malloc_array(segment.handle(), type_of<T>::get(), count,
                                      name.empty() ? nullptr : name.c_str());
  if (block == nullptr) throw Error::last();
  return static_cast<stored_t<T>*>(block);
}

}  // namespace iw
