#include "space/space.h"

#include <cstdlib>

namespace services {
namespace {

// What to do about it, where the reason does not say.
const char* next_step(int error) {
  switch (error) {
    case DDSS_ENODE:
      return "; start that process again";
    case DDSS_EUNREACHABLE:
      return "; is the process that gave the address still there? IW_FABRIC=tcp or shm chooses how "
             "to reach it";
    case DDSS_ETIMEDOUT:
      return "; a process of the space is stopped or overloaded";
    case DDSS_EMEMORY:
      return "; give the processes that hold the data larger pools, or share less";
    default:
      return "";
  }
}

[[noreturn]] void fail(int error, const std::string& what) {
  throw Failure(what + ": " + ddss_error_text(error) + next_step(error), error);
}

}  // namespace

int check(int result, const char* what) {
  if (result < 0) fail(result, what);
  return result;
}

// `address` empty: as the environment says.
Space::Space(const std::string& address, std::size_t pool_bytes) {
  ddss_options_t options{};
  options.pool_bytes = pool_bytes;
  if (!address.empty()) options.join = address.c_str();
  const int error = ddss_init(&options);
  if (error == 0) return;
  if (error == DDSS_EARGUMENT) {
    throw Failure("that is not the address of a space; copy the address that its founder printed",
                  error);
  }
  fail(error, "taking part in the space");
}

Space Space::found(std::size_t pool_bytes) {
  // Also in a terminal that was told of another space: what is shared here would meet what is there
  // under the same names.
  unsetenv("IW_DDSS");
  return join_or_found("", pool_bytes);
}

Space Space::join(const std::string& address) {
  const bool is_of_daemon = address.empty() && std::getenv("IW_DDSS_DAEMON") != nullptr;
  return is_of_daemon ? Space(address, pool_bytes_default) : join_as_node(address);
}

Space Space::join_as_node(const std::string& address, std::size_t pool_bytes) {
  if (address.empty() && std::getenv("IW_DDSS") == nullptr) {
    throw Failure("which space? Give --join ADDRESS (or set IW_DDSS): its founder printed it");
  }
  return join_or_found(address, pool_bytes);
}

// The processes that this one starts take part as it does.
Space Space::join_or_found(const std::string& address, std::size_t pool_bytes) {
  unsetenv("IW_DDSS_DAEMON");
  return Space(address, pool_bytes);
}

ddss_key_t named(const std::string& name, std::size_t nbytes, ddss_model_t model) {
  ddss_allocation_t how{};
  how.name = name.c_str();
  how.placement = DDSS_NODE;
  how.node = 0;
  const ddss_key_t key = ddss_allocate(nbytes, model, &how);
  if (key == 0) fail(ddss_errno(), "sharing '" + name + "'");
  return key;
}

ddss_key_t allocate_here(std::size_t nbytes, ddss_model_t model) {
  ddss_allocation_t how{};
  how.placement = DDSS_LOCAL;
  const ddss_key_t key = ddss_allocate(nbytes, model, &how);
  if (key == 0) fail(ddss_errno(), "sharing " + std::to_string(nbytes) + " bytes");
  return key;
}

Lock::Lock(ddss_key_t key, Kind kind) : key_(key) {
  check(kind == Kind::kShared ? ddss_acquire_shared_lock(key) : ddss_acquire_lock(key),
        "waiting for a lock");
}

Lock::Lock(ddss_key_t key, Attempt) : key_(key) {
  const int result = ddss_try_lock(key);
  if (result != 0) key_ = 0;
  if (result != DDSS_EBUSY) check(result, "trying a lock");
}

}  // namespace services
