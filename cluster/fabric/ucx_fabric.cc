#include "fabric/ucx_fabric.h"

#include <dlfcn.h>
#include <signal.h>
#include <ucs/config/global_opts.h>
#include <ucs/debug/debug.h>
#include <ucs/debug/log_def.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

#include "fabric/transport_segments.h"
#include "fabric/ucx_status.h"
#include "fabric/ucx_worker.h"

namespace iw::fabric {
namespace {

Transport from_environment() {
  const char* set = std::getenv("IW_FABRIC");
  const std::string_view name = set == nullptr ? "auto" : set;
  if (name == "auto") return Transport::automatic;
  if (name == "shm") return Transport::shm;
  if (name == "tcp") return Transport::tcp;
  if (name == "verbs") return Transport::verbs;
  return Transport::by_environment;
}

// What a fabric may use. Without a job key nobody listens at a TCP port of UCX's, which obeys
// strangers [UCX-16], unless a person asked for TCP [HELLO-1].
Transport allowed(Transport asked_for, const JobKey& key) {
  const bool is_limited = asked_for == Transport::automatic && !key.is_secret();
  return is_limited ? Transport::shm : asked_for;
}

// System V segments are committed when touched and go with their last process; POSIX ones are
// committed at once.
const char* transports(Transport transport) {
  switch (transport) {
    case Transport::shm:
      return "self,sysv,cma";
    case Transport::tcp:
      return "self,tcp";
    case Transport::verbs:
      return "rc";
    default:
      return "^posix";
  }
}

// Over the adapter that the connection manager found, and no others: with all of them, the library
// settles on its ways anew by messages when the first is in use already [UCX-7].
void set_how_to_call(ucp_config_t* config) {
  ucp_config_modify(config, "SOCKADDR_TLS_PRIORITY", "rdmacm");
  ucp_config_modify(config, "CM_USE_ALL_DEVICES", "n");
}

// Messages that are sent from where they lie could end the process [UCX-2]. Copied ones are, in
// pieces of this size, not slower.
void copy_what_is_sent(ucp_config_t* config) {
  ucp_config_modify(config, "ZCOPY_THRESH", "inf");
  ucp_config_modify(config, "TX_SEG_SIZE", "64k");
}

// One socket's event at a time [UCX-15].
void take_events_singly(ucp_config_t* config) { ucp_config_modify(config, "MAX_POLL", "1"); }

// UCX obeys emulated puts, gets and atomics of strangers where it has these features [UCX-16]. Only
// on verbs does this room put and get by UCX (is_reached_by_messages).
std::uint64_t features(Transport transport) {
  const std::uint64_t messages = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  return transport == Transport::verbs ? messages | UCP_FEATURE_RMA : messages;
}

ucs_status_t make_context(Transport transport, bool this_machine_only, ucp_context_h* context) {
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) return status;
  const bool is_over_tcp = transport == Transport::tcp || transport == Transport::automatic;
  ucp_config_modify(config, "TLS", transports(transport));
  // Of what is allocated for adapters; the library's other ways need not zero it.
  ucp_config_modify(config, "ALLOC_PRIO", "md:sysv,mmap");
  if (transport == Transport::verbs) set_how_to_call(config);
  if (this_machine_only && is_over_tcp) ucp_config_modify(config, "NET_DEVICES", "lo");
  if (is_over_tcp) {
    copy_what_is_sent(config);
    take_events_singly(config);
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED;
  params.features = features(transport);
  params.mt_workers_shared = 1;
  status = ucp_init(&params, config, context);
  ucp_config_release(config);
  return status;
}

// The library handles faults from when it is loaded. They are the program's, or the page-based
// memory's.
void leave_signals_alone() {
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    struct sigaction now;
    Dl_info where;
    const bool is_library = sigaction(number, nullptr, &now) == 0 &&
                            dladdr(reinterpret_cast<void*>(now.sa_handler), &where) != 0 &&
                            std::strstr(where.dli_fname, "libucs") != nullptr;
    if (is_library) ucs_debug_disable_signal(number);
  }
}

// The library takes this setting from the environment only [UCX-13].
constexpr const char* tells_of_death = "UCX_SYSV_ERROR_HANDLING";

// A process that inherited the above may have no use for it, which the library would warn of.
void be_silent_about_unused_environment() {
  const bool is_users_choice = std::getenv("UCX_WARN_UNUSED_ENV_VARS") != nullptr;
  if (std::getenv(tells_of_death) != nullptr && !is_users_choice) {
    ucs_global_opts_set_value("WARN_UNUSED_ENV_VARS", "n");
  }
}

// The library's files that speak of connections [UCX-14]: that one is refused or reset is an error
// there, with advice on kernel settings. Here a peer has died, which whoever asks it is told.
// Two more files warn, each time with a backtrace, of a stranger's message that nobody takes
// [UCX-16].
ucs_log_func_rc_t pass_over(const char* file, unsigned, const char*, ucs_log_level_t level,
                            const ucs_log_component_config_t*, const char*, va_list) {
  const std::string_view name(file);
  const bool is_of_connections = name.ends_with("/sock.c") || name.ends_with("/tcp_ep.c");
  const bool is_of_strangers = name.ends_with("/uct_iface.c") || name.ends_with("debug/log.c");
  const bool is_unwanted = (is_of_connections && level != UCS_LOG_LEVEL_FATAL) ||
                           (is_of_strangers && level == UCS_LOG_LEVEL_WARN);
  return is_unwanted ? UCS_LOG_FUNC_RC_STOP : UCS_LOG_FUNC_RC_CONTINUE;
}

void be_silent_about_the_dead_and_strangers() {
  static std::once_flag once;
  if (std::getenv("UCX_LOG_LEVEL") != nullptr) return;  // the user wants to see what there is
  std::call_once(once, [] { ucs_log_push_handler(&pass_over); });
}

}  // namespace

std::unique_ptr<Fabric> Fabric::open(const Options& options, std::string* error) {
  const Transport asked_for =
      options.transport == Transport::by_environment ? from_environment() : options.transport;
  if (asked_for == Transport::by_environment) {
    *error = "IW_FABRIC must be auto, shm, tcp or verbs";
    return nullptr;
  }
  JobKey key;
  const bool is_found = options.takes_key_of_rendezvous ? find_job_key(&key, error)
                                                        : read_key_of_environment(&key, error);
  if (!is_found) return nullptr;
  if (asked_for == Transport::verbs && !key.is_secret()) {
    *error = std::string("IW_FABRIC=verbs needs a job key: ") + how_to_set_a_key;
    return nullptr;
  }
  const Transport transport = allowed(asked_for, key);
  leave_signals_alone();
  if (transport == Transport::shm || transport == Transport::automatic) {
    setenv(tells_of_death, "y", 0);
  }
  be_silent_about_unused_environment();
  be_silent_about_the_dead_and_strangers();
  ucp_context_h context = nullptr;
  const ucs_status_t status = make_context(transport, !key.is_secret(), &context);
  if (status != UCS_OK) {
    *error = std::string("the transport library has no such transport here: ") +
             ucs_status_string(status);
    if (transport != asked_for)
      *error += "; use IW_FABRIC=tcp, or " + std::string(how_to_set_a_key);
    return nullptr;
  }
  auto fabric = std::make_unique<UcxFabric>(context, transport, key, options.spin);
  if (!fabric->is_open()) {
    *error = "no TCP socket can be opened to be reached at";
    return nullptr;
  }
  if (!fabric->is_served()) {
    *error =
        "no thread can be started, or no descriptor opened; raise the limits of processes and of "
        "open files (ulimit -u and -n, or the container's)";
    return nullptr;
  }
  return fabric;
}

UcxFabric::UcxFabric(ucp_context_h context, Transport transport, const JobKey& key,
                     std::chrono::microseconds spin)
    : context_(context),
      transport_(transport),
      key_(key),
      spin_(spin),
      name_(name_of_this_process()) {
  Door::Callbacks callbacks;
  callbacks.admit = [this](std::uint32_t worker, const Caller& caller) {
    return service_->admit(worker, caller);
  };
  callbacks.died = [this](const ProcessName& process) { service_->note_death(process); };
  door_ = std::make_unique<Door>(name_, key_, strangers_, transport == Transport::shm,
                                 std::move(callbacks));
  service_ = std::make_unique<Service>(*door_, spin > spin.zero());
  is_served_ = service_->start();
}

UcxFabric::~UcxFabric() {
  service_->stop();
  if (!is_context_kept_) ucp_cleanup(context_);
}

Status UcxFabric::make_transport(ucp_worker_h* made) const {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  const auto before = mapped_segments();
  const ucs_status_t status = ucp_worker_create(context_, &params, made);
  if (status != UCS_OK) return to_status(status);
  if (before && close_new_segments_to_others(*before)) return Status::ok;
  ucp_worker_destroy(*made);
  return Status::failed;
}

std::unique_ptr<Worker> UcxFabric::add_worker(Status* status) {
  ucp_worker_h made = nullptr;
  *status = make_transport(&made);
  if (*status != Status::ok) return nullptr;
  auto worker = std::make_unique<UcxWorker>(*this, next_worker_++, made);
  *status = worker->start();
  if (*status != Status::ok) return nullptr;
  service_->add(worker.get());
  return worker;
}

}  // namespace iw::fabric
