// A space of <interweave/ddss.h> as these programs use it: segments hold one value of a type,
// failures are exceptions that name the next step, locks end with their scope.
#pragma once

#include <interweave/ddss.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace services {

class Failure : public std::runtime_error {
 public:
  explicit Failure(const std::string& text, int error = 0)
      : std::runtime_error(text), error_(error) {}
  int error() const { return error_; }  // DDSS_E..., or 0

 private:
  int error_;
};

// The result of a call, if that did not fail.
int check(int result, const char* what);

// This process's part in a space, until this ends.
class Space {
 public:
  static constexpr std::size_t pool_bytes_default = 16 << 20;
  // A space of its own, whatever the environment says.
  static Space found(std::size_t pool_bytes = pool_bytes_default);
  // `address` may be empty if the environment's IW_DDSS_DAEMON or IW_DDSS says where to.
  static Space join(const std::string& address);
  // Not through a daemon: this process's memory comes and goes with it. `address` may be empty if
  // IW_DDSS says where to.
  static Space join_as_node(const std::string& address,
                            std::size_t pool_bytes = pool_bytes_default);
  // The same, and founds a space where neither says where to.
  static Space join_or_found(const std::string& address,
                             std::size_t pool_bytes = pool_bytes_default);
  ~Space() { ddss_finish(); }
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;

 private:
  Space(const std::string& address, std::size_t pool_bytes);
};

// Of all who ask for a name one creates the segment: with the founder, so that it lives as long as
// the space.
ddss_key_t named(const std::string& name, std::size_t nbytes, ddss_model_t model);
ddss_key_t allocate_here(std::size_t nbytes, ddss_model_t model);

// A value of a type in shared memory. Copies mean the same segment.
template <typename T>
class Segment {
  static_assert(std::is_trivially_copyable_v<T>, "its bytes are shared as they are");

 public:
  Segment() = default;
  explicit Segment(ddss_key_t key) : key_(key) {}
  static Segment named(const std::string& name, ddss_model_t model) {
    return Segment(services::named(name, sizeof(T), model));
  }
  static Segment here(ddss_model_t model) { return Segment(allocate_here(sizeof(T), model)); }

  ddss_key_t key() const { return key_; }
  T get() const {
    T value;
    check(ddss_get(key_, &value, sizeof value), "reading shared memory");
    return value;
  }
  // Whether there was a version that is not *version.
  bool get_if_newer(T* value, std::uint64_t* version) const {
    return check(ddss_get_if_newer(key_, value, sizeof *value, version), "checking a version") !=
           DDSS_UNCHANGED;
  }
  void put(const T& value) const {
    check(ddss_put(key_, &value, sizeof value), "writing shared memory");
  }

 private:
  ddss_key_t key_ = 0;
};

// A segment's lock, until this ends.
class Lock {
 public:
  enum class Kind { kExclusive, kShared };
  explicit Lock(ddss_key_t key, Kind kind = Kind::kExclusive);
  ~Lock() {
    if (key_ != 0) ddss_release_lock(key_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  // Does not wait; says whether it is held.
  static Lock attempt(ddss_key_t key) { return Lock(key, Attempt()); }
  bool is_held() const { return key_ != 0; }

 private:
  struct Attempt {};
  Lock(ddss_key_t key, Attempt);
  ddss_key_t key_;
};

}  // namespace services
