// interweave.hpp -- C++ over the C interface: segments and locks that release themselves, typed
// allocation, failures as exceptions. Header only. <interweave.h> says what holds of threads,
// errors and units.
//
//   iw::Segment list("127.0.0.1/list");
//   iw::write(list, [&] {             // commits at the end; an exception undoes the changes
//     iw::find_or_make<node_t>(list, "head")->key += 1;
//   });
//   iw::ReadLock lock(list);
//   const auto* head = list.find<node_t>("head");   // throws if the block is of another type
#pragma once

#include <interweave.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#if __cplusplus >= 202002L
#include <span>
#endif

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
      : handle_(std::exchange(other.handle_, nullptr)),
        url_(std::move(other.url_)),
        changed_(std::move(other.changed_)) {}
  Segment& operator=(Segment&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(url_, other.url_);
    std::swap(changed_, other.changed_);
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

  // Calls `f(version)` when the copy is not recent enough any more, as IW_on_change does: on a
  // thread of the library, without a lock. Nothing in place of a function ends the calls, and so
  // does the end of the segment. `f` throws nothing. Must not be called by `f`.
  void on_change(std::function<void(std::uint64_t)> f) {
    auto next = f ? std::make_unique<std::function<void(std::uint64_t)>>(std::move(f)) : nullptr;
    const auto call = [](IW_handle_t, std::uint64_t version, void* to) {
      (*static_cast<std::function<void(std::uint64_t)>*>(to))(version);
    };
    const IW_change_fn begin = next == nullptr ? nullptr : static_cast<IW_change_fn>(call);
    if (IW_on_change(handle_, begin, next.get()) != 0) throw Error::last();
    changed_ = std::move(next);
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
  std::unique_ptr<std::function<void(std::uint64_t)>> changed_;  // of on_change
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
  static std::optional<ReadLock> try_for(const Segment& segment, std::chrono::duration<double> time,
                                         int flags = 0) {
    return try_for(segment, time.count(), flags);
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

// The writer lock. release() commits, and abort() undoes the changes. So does a scope that ends
// without either: silently by an exception, else with a report to the log of the changes that are
// lost.
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
  static std::optional<WriteLock> try_for(const Segment& segment,
                                          std::chrono::duration<double> time) {
    return try_for(segment, time.count());
  }
  ~WriteLock() {
    if (handle_ == nullptr) return;
    const bool is_forgotten = std::uncaught_exceptions() <= exceptions_;
    (void)(is_forgotten ? IW_wl_drop(handle_) : IW_wl_abort(handle_));
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
  int exceptions_ = std::uncaught_exceptions();  // on their way when the lock was taken
};

// Calls `f` under the writer lock, commits, and returns what `f` returned. An exception undoes the
// changes, and continues to the caller.
template <typename F>
std::invoke_result_t<F> write(const Segment& segment, F&& f) {
  WriteLock lock(segment);
  if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
    std::forward<F>(f)();
    lock.release();
  } else {
    std::invoke_result_t<F> made = std::forward<F>(f)();
    lock.release();
    return made;
  }
}

// Calls `f` under a reader lock.
template <typename F>
std::invoke_result_t<F> read(const Segment& segment, F&& f) {
  const ReadLock lock(segment);
  return std::forward<F>(f)();
}

// Allocates a block of `count` values, all zero. REQUIRES: the writer lock. `name` may be empty.
template <typename T>
stored_t<T>* make(const Segment& segment, const std::string& name = {}, std::size_t count = 1) {
  void* const block = IW_malloc_array(segment.handle(), type_of<T>::get(), count,
                                      name.empty() ? nullptr : name.c_str());
  if (block == nullptr) throw Error::last();
  return static_cast<stored_t<T>*>(block);
}

// The block of `count` values with this name, which is made if there is no such block. REQUIRES:
// the writer lock. Thrown: IW_ETYPE_CONFLICT for a block of another type or number of values.
template <typename T>
stored_t<T>* find_or_make(const Segment& segment, const std::string& name, std::size_t count = 1) {
  void* const block =
      IW_find_or_malloc_array(segment.handle(), type_of<T>::get(), count, name.c_str());
  if (block == nullptr) throw Error::last();
  return static_cast<stored_t<T>*>(block);
}

// A description of the block that `p` points into. REQUIRES: a lock.
inline IW_block_t describe(const Segment& segment, const void* p) {
  IW_block_t block{};
  block.size = sizeof block;
  if (IW_describe_block(segment.handle(), p, &block) != 0) throw Error::last();
  return block;
}

// The blocks of a segment in the order of their serials: `for (const IW_block_t& b :
// iw::blocks(segment))`. REQUIRES: a lock, as long as the range is used.
class Blocks {
 public:
  class Iterator {
   public:
    Iterator(const Segment* segment, void* at) : segment_(segment), at_(at) { look(); }
    const IW_block_t& operator*() const { return block_; }
    const IW_block_t* operator->() const { return &block_; }
    Iterator& operator++() {
      at_ = IW_next_block(segment_->handle(), at_);
      look();
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    void look() {
      if (at_ != nullptr) block_ = describe(*segment_, at_);
    }
    const Segment* segment_;
    void* at_;
    IW_block_t block_{};
  };
  explicit Blocks(const Segment& segment) : segment_(&segment) {}
  [[nodiscard]] Iterator begin() const {
    return {segment_, IW_next_block(segment_->handle(), nullptr)};
  }
  [[nodiscard]] Iterator end() const { return {segment_, nullptr}; }

 private:
  const Segment* segment_;
};
inline Blocks blocks(const Segment& segment) { return Blocks(segment); }

#if __cplusplus >= 202002L
// All values of the block with this name; empty if the segment does not have it. T const: for
// reading. Thrown: IW_ETYPE_CONFLICT. REQUIRES: a lock.
template <typename T>
std::span<stored_t<T>> values(const Segment& segment, const std::string& name) {
  stored_t<T>* const first = segment.find<T>(name);
  if (first == nullptr) return {};
  const IW_block_t block = describe(segment, first);
  std::size_t count = block.count;
  const IW_type_t wanted = IW_laid_out(type_of<std::remove_cv_t<T>>::get());
  for (IW_type_t here = block.type; here != wanted; here = IW_laid_out(here->element)) {
    count *= here->count;
  }
  return {first, count};
}
#endif

}  // namespace iw
