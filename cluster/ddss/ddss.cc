// The calls of <interweave/ddss.h>. They check arguments and call the process's backend.
#include "interweave/ddss.h"

#include <cstdlib>

#include "ddss/client.h"
#include "ddss/current.h"
#include "ddss/node.h"
#include "platform/mutex.h"

using iw::ddss::Atomic;
using iw::ddss::Backend;
using iw::ddss::Failure;
using iw::ddss::Hold;
using iw::ddss::Operation;
using iw::ddss::Visit;
using iw::ddss::Which;

struct ddss_operation {
  std::unique_ptr<Operation> operation;
};

namespace {

thread_local Failure last_failure;

// Locked while a backend ends.
iw::platform::Mutex ending;

int noted(Failure failure) {
  last_failure = std::move(failure);
  return last_failure.error;
}

int noted(int result) { return result < 0 ? noted(Failure{result, ""}) : result; }

// `call` with the backend, if there is one.
template <typename Call>
int with_backend(Call call) {
  const Visit visit;
  return noted(visit.backend() == nullptr ? DDSS_ENOTINIT : call(*visit.backend()));
}

bool is_buffer(const void* data, size_t nbytes) { return data != nullptr || nbytes == 0; }

int get(ddss_key_t key, size_t offset, void* data, size_t nbytes, Which which, uint64_t* version) {
  return with_backend([&](Backend& backend) {
    if (!is_buffer(data, nbytes)) return int{DDSS_EARGUMENT};
    return backend.get(key, offset, {static_cast<std::byte*>(data), nbytes}, which, version);
  });
}

int change(ddss_key_t key, size_t offset, const Atomic& what, uint64_t* before) {
  return with_backend([&](Backend& backend) {
    return before == nullptr ? int{DDSS_EARGUMENT} : backend.change(key, offset, what, before);
  });
}

int lock(ddss_key_t key, Hold hold, bool may_wait) {
  return with_backend([&](Backend& backend) { return backend.lock(key, hold, may_wait); });
}

int wait_and_delete(ddss_operation_t* operation) {
  const std::unique_ptr<ddss_operation_t> gone(operation);
  return operation->operation->wait();
}

template <typename Start>
ddss_operation_t* start(const void* data, size_t nbytes, Start start) {
  std::unique_ptr<Operation> started;
  const int error = with_backend([&](Backend& backend) {
    if (!is_buffer(data, nbytes)) return int{DDSS_EARGUMENT};
    return start(backend, &started);
  });
  return error != 0 ? nullptr : new ddss_operation_t{std::move(started)};
}

// Options that are given replace the defaults.
template <typename Options>
void apply(const ddss_options_t& given, Options* wanted) {
  if (given.timeout_ms != 0) wanted->timeout = std::chrono::milliseconds(given.timeout_ms);
  if (given.sleeps_at_once != 0) wanted->spin = std::chrono::microseconds(0);
}

std::unique_ptr<Backend> open_node(const ddss_options_t& given, Failure* failure) {
  iw::ddss::NodeOptions wanted;
  apply(given, &wanted);
  const char* join = given.join != nullptr ? given.join : std::getenv("IW_DDSS");
  if (join != nullptr) wanted.join = join;
  if (given.pool_bytes != 0) wanted.pool_bytes = given.pool_bytes;
  return iw::ddss::Node::open(wanted, failure);
}

std::unique_ptr<Backend> open_client(const ddss_options_t& given, const char* daemon,
                                     Failure* failure) {
  iw::ddss::ClientOptions wanted;
  apply(given, &wanted);
  wanted.path = daemon;
  return iw::ddss::Client::open(wanted, failure);
}

const char* text_of(int error) {
  switch (error) {
    case 0:
      return "no error";
    case DDSS_UNCHANGED:
      return "the segment has the version that is known already";
    case DDSS_EARGUMENT:
      return "an argument makes no sense";
    case DDSS_ENOTINIT:
      return "ddss_init was not called, or ddss_finish was";
    case DDSS_ENOKEY:
      return "no segment has this key: it was never allocated, or was released";
    case DDSS_ENODE:
      return "the node that has it left or died";
    case DDSS_EMEMORY:
      return "the node's pool has no room for it";
    case DDSS_ERANGE:
      return "it goes past the segment's end";
    case DDSS_ETIMEDOUT:
      return "the others did not answer, or did not let go, in time";
    case DDSS_EBUSY:
      return "another thread has the lock";
    case DDSS_ENOTHELD:
      return "this thread does not hold the lock";
    case DDSS_EHELD:
      return "this thread holds the lock already";
    case DDSS_ENOVERSION:
      return "this version is not kept";
    case DDSS_EMODEL:
      return "the segment's model has no such call";
    case DDSS_EUNREACHABLE:
      return "no transport leads there, or it failed";
    case DDSS_EFULL:
      return "the daemon has no room for another thread: its limit of open files (ulimit -n)";
    case DDSS_ENOTLOCAL:
      return "the segment's data are not in this process's pool";
    default:
      return "no error of this interface";
  }
}

const Failure has_one{DDSS_EARGUMENT, "this process takes part already"};

}  // namespace

int ddss_init(const ddss_options_t* options) {
  const ddss_options_t given = options == nullptr ? ddss_options_t{} : *options;
  if (iw::ddss::has_current()) return noted(has_one);
  const char* daemon = given.daemon != nullptr ? given.daemon : std::getenv("IW_DDSS_DAEMON");
  Failure failure;
  auto backend =
      daemon != nullptr ? open_client(given, daemon, &failure) : open_node(given, &failure);
  if (backend == nullptr) return noted(std::move(failure));
  return iw::ddss::make_current(std::move(backend)) ? 0 : noted(has_one);
}

int ddss_finish(void) {
  const iw::platform::MutexLock held(ending);
  return noted(iw::ddss::take_current() == nullptr ? DDSS_ENOTINIT : 0);
}

int ddss_node(void) {
  return with_backend([](Backend& backend) { return backend.node(); });
}

int ddss_nodes(void) {
  return with_backend([](Backend& backend) { return backend.nodes(); });
}

int ddss_await_nodes(int count) {
  return with_backend([&](Backend& backend) { return backend.await_nodes(count); });
}

const char* ddss_address(void) {
  const Visit visit;
  return visit.backend() == nullptr ? nullptr : visit.backend()->address().c_str();
}

ddss_key_t ddss_allocate(size_t nbytes, ddss_model_t model, const ddss_allocation_t* how) {
  const ddss_allocation_t given = how == nullptr ? ddss_allocation_t{} : *how;
  ddss_key_t key = 0;
  const int error =
      with_backend([&](Backend& backend) { return backend.allocate(nbytes, model, given, &key); });
  return error == 0 ? key : 0;
}

int ddss_release(ddss_key_t key) {
  return with_backend([&](Backend& backend) { return backend.release(key); });
}

int ddss_describe(ddss_key_t key, ddss_description_t* description) {
  return with_backend([&](Backend& backend) {
    return description == nullptr ? int{DDSS_EARGUMENT} : backend.describe(key, description);
  });
}

int ddss_get(ddss_key_t key, void* data, size_t nbytes) {
  return get(key, 0, data, nbytes, Which::current, nullptr);
}

int ddss_get_at(ddss_key_t key, size_t offset, void* data, size_t nbytes) {
  return get(key, offset, data, nbytes, Which::current, nullptr);
}

int ddss_put(ddss_key_t key, const void* data, size_t nbytes) {
  return ddss_put_at(key, 0, data, nbytes);
}

int ddss_put_at(ddss_key_t key, size_t offset, const void* data, size_t nbytes) {
  return with_backend([&](Backend& backend) {
    if (!is_buffer(data, nbytes)) return int{DDSS_EARGUMENT};
    return backend.put(key, offset, {static_cast<const std::byte*>(data), nbytes});
  });
}

int ddss_fetch_add(ddss_key_t key, size_t offset, uint64_t add, uint64_t* before) {
  return change(key, offset, {false, add, 0}, before);
}

int ddss_compare_swap(ddss_key_t key, size_t offset, uint64_t expected, uint64_t desired,
                      uint64_t* before) {
  return change(key, offset, {true, desired, expected}, before);
}

int ddss_barrier(ddss_key_t key, int count) {
  return with_backend([&](Backend& backend) { return backend.barrier(key, count); });
}

void* ddss_local(ddss_key_t key) {
  void* data = nullptr;
  const int error = with_backend([&](Backend& backend) { return backend.local(key, &data); });
  return error == 0 ? data : nullptr;
}

int ddss_version(ddss_key_t key, uint64_t* version) {
  return with_backend([&](Backend& backend) {
    return version == nullptr ? int{DDSS_EARGUMENT} : backend.version(key, version);
  });
}

int ddss_get_if_newer(ddss_key_t key, void* data, size_t nbytes, uint64_t* version) {
  if (version == nullptr) return noted(DDSS_EARGUMENT);
  return get(key, 0, data, nbytes, Which::if_newer, version);
}

int ddss_get_version(ddss_key_t key, void* data, size_t nbytes, uint64_t version) {
  return get(key, 0, data, nbytes, Which::exactly, &version);
}

int ddss_acquire_lock(ddss_key_t key) { return lock(key, Hold::exclusive, true); }
int ddss_acquire_shared_lock(ddss_key_t key) { return lock(key, Hold::shared, true); }
int ddss_try_lock(ddss_key_t key) { return lock(key, Hold::exclusive, false); }
int ddss_try_shared_lock(ddss_key_t key) { return lock(key, Hold::shared, false); }

int ddss_release_lock(ddss_key_t key) {
  return with_backend([&](Backend& backend) { return backend.unlock(key); });
}

int ddss_lock_word(ddss_key_t key, uint64_t* word) {
  return with_backend([&](Backend& backend) {
    return word == nullptr ? int{DDSS_EARGUMENT} : backend.lock_word(key, word);
  });
}

ddss_operation_t* ddss_async_get(ddss_key_t key, void* data, size_t nbytes) {
  return start(data, nbytes, [&](Backend& backend, std::unique_ptr<Operation>* started) {
    return backend.start_get(key, {static_cast<std::byte*>(data), nbytes}, started);
  });
}

ddss_operation_t* ddss_async_put(ddss_key_t key, const void* data, size_t nbytes) {
  return start(data, nbytes, [&](Backend& backend, std::unique_ptr<Operation>* started) {
    return backend.start_put(key, {static_cast<const std::byte*>(data), nbytes}, started);
  });
}

int ddss_wait(ddss_operation_t* operation) {
  if (operation == nullptr) return last_failure.error;
  {
    const Visit visit;  // the backend of the operation does not end meanwhile
    if (visit.backend() != nullptr) return noted(wait_and_delete(operation));
  }
  // The operation's backend has ended, or is about to end: it abandons the operation first.
  const iw::platform::MutexLock held(ending);
  return noted(wait_and_delete(operation));
}

int ddss_is_onesided(ddss_key_t key) {
  return with_backend([&](Backend& backend) { return backend.is_onesided(key); });
}

uint64_t ddss_bytes_moved(void) { return iw::ddss::bytes_moved; }

int ddss_errno(void) { return last_failure.error; }

const char* ddss_error_text(int error) {
  const bool is_explained = error == last_failure.error && !last_failure.why.empty();
  return is_explained ? last_failure.why.c_str() : text_of(error);
}
