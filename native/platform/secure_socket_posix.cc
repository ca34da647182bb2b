#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "platform/mutex.h"
#include "platform/openssl.h"
#include "platform/secure_socket.h"
#include "platform/socket_waits.h"

namespace iw::platform {

namespace {

using openssl::Functions;

constexpr std::size_t buffer_bytes = std::size_t{64} << 10;
constexpr std::array<unsigned char, 5> protocols = {4, 'i', 'w', '/', '2'};  // ALPN [NET-5]

// The host program may have begun OpenSSL itself, which then ends with the process, beside our
// threads. From the end of the process on no thread of ours enters it.
class ExitGate {
 public:
  static ExitGate& get() {
    static ExitGate& gate = *new ExitGate;
    return gate;
  }

  class IW_SCOPED_CAPABILITY Inside {
   public:
    explicit Inside(ExitGate& gate) IW_ACQUIRE_SHARED(gate.mutex_) : mutex_(gate.mutex_) {
      mutex_.lock_shared();
    }
    ~Inside() IW_RELEASE() { mutex_.unlock_shared(); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    SharedMutex& mutex_;
  };

 private:
  ExitGate() {
    // Registered after OpenSSL has begun, so called before OpenSSL ends. Never unlocked.
    std::atexit([]() IW_NO_THREAD_SAFETY_ANALYSIS { get().mutex_.lock(); });
    // The threads that are inside do not exist in a child of a fork.
    pthread_atfork(nullptr, nullptr, [] { new (&get().mutex_) SharedMutex; });
  }
  SharedMutex mutex_;
};

// Of TLS alerts, as reasons of OpenSSL's errors, those about the client's certificate.
bool is_about_certificate(unsigned long error) {
  constexpr unsigned long reason_mask = 0x7FFFFF, first_alert = 1000;
  constexpr std::array<unsigned long, 9> alerts = {42, 43, 44, 45, 46, 48, 49, 51, 116};
  const unsigned long reason = error & reason_mask;
  return reason >= first_alert && std::ranges::find(alerts, reason - first_alert) != alerts.end();
}

struct FreeContext {
  const Functions* tls;
  void operator()(openssl::Context* context) const { tls->SSL_CTX_free(context); }
};
struct FreeConnection {
  const Functions* tls;
  void operator()(openssl::Connection* connection) const { tls->SSL_free(connection); }
};
using ContextOwner = std::unique_ptr<openssl::Context, FreeContext>;
using ConnectionOwner = std::unique_ptr<openssl::Connection, FreeConnection>;

// Bytes on their way in one direction.
struct Buffer {
  std::array<std::byte, buffer_bytes> bytes;
  std::size_t begin = 0;
  std::size_t end = 0;

  [[nodiscard]] bool is_empty() const { return begin == end; }
  void take(std::size_t count) {
    begin += count;
    if (is_empty()) begin = end = 0;
  }
};

// The finding of one look at a side.
enum class Step : std::uint8_t { moved, waits, ended, failed };

// One connection, on its own thread.
class Carrier {
 public:
  Carrier(const Functions& tls, FileDescriptor network, FileDescriptor link)
      : tls_(tls),
        network_(std::move(network)),
        link_(std::move(link)),
        context_(nullptr, {&tls}),
        connection_(nullptr, {&tls}) {}

  TlsFailure shake_hands(const std::string& host, const TlsFiles& files, std::int64_t deadline_ns);
  // Until one of the two ends is gone.
  TlsFailure carry();
  // The server hears of the end, also while a child of a fork still has the descriptor.
  void part() { (void)::shutdown(network_.get(), SHUT_RDWR); }
  // Frees the memory that OpenSSL has of it.
  void free() {
    connection_.reset();
    context_.reset();
  }

 private:
  TlsFailure configure(const TlsFiles& files);
  TlsFailure expect(const std::string& host);
  TlsFailure handshake_failed();
  TlsFailure failure(TlsTrouble trouble, std::string text);
  std::string words();
  bool wait_for_network(int error, std::int64_t deadline_ns);

  bool move_all();
  Step read_network();
  Step write_link();
  Step read_link();
  Step write_network();
  Step of_result(int result);
  void sleep();

  const Functions& tls_;
  FileDescriptor network_;
  FileDescriptor link_;
  ContextOwner context_;
  ConnectionOwner connection_;
  Buffer in_;
  Buffer out_;
  bool server_has_ended_ = false;
  bool link_has_ended_ = false;
  bool wants_network_room_ = false;
  unsigned long last_error_ = 0;
  TlsFailure why_;
};

TlsFailure Carrier::failure(TlsTrouble trouble, std::string text) {
  return {trouble, std::move(text)};
}

// The oldest error of OpenSSL's queue, which is the cause of the others.
std::string Carrier::words() {
  last_error_ = tls_.ERR_get_error();
  if (last_error_ == 0) return "the connection was closed";
  std::array<char, 256> text{};
  tls_.ERR_error_string_n(last_error_, text.data(), text.size());
  // error:0A000086:SSL routines::certificate verify failed
  const char* const last = std::strrchr(text.data(), ':');
  return last == nullptr ? text.data() : last + 1;
}

TlsFailure Carrier::configure(const TlsFiles& files) {
  context_.reset(tls_.SSL_CTX_new(tls_.TLS_client_method()));
  if (context_ == nullptr) return failure(TlsTrouble::no_resource, words());
  openssl::Context* const context = context_.get();
  tls_.SSL_CTX_ctrl(context, openssl::ctrl_set_least_version, openssl::tls_1_3, nullptr);
  tls_.SSL_CTX_ctrl(context, openssl::ctrl_mode,
                    openssl::mode_partial_write | openssl::mode_moving_buffer, nullptr);
  tls_.SSL_CTX_set_verify(context, openssl::verify_peer, nullptr);
  (void)tls_.SSL_CTX_set_alpn_protos(context, protocols.data(), protocols.size());
  if (files.authorities.empty()) {
    (void)tls_.SSL_CTX_set_default_verify_paths(context);
  } else if (tls_.SSL_CTX_load_verify_file(context, files.authorities.c_str()) != 1) {
    return failure(TlsTrouble::files, "IW_CA names " + files.authorities + ": " + words());
  }
  if (files.certificate.empty() != files.key.empty()) {
    return failure(TlsTrouble::files, "IW_CERT and IW_KEY belong together; set both");
  }
  if (files.certificate.empty()) return {};
  if (tls_.SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1) {
    return failure(TlsTrouble::files, "IW_CERT names " + files.certificate + ": " + words());
  }
  // Also compares the key with the certificate.
  if (tls_.SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), openssl::file_is_pem) != 1) {
    return failure(TlsTrouble::files, "IW_KEY names " + files.key + ": " + words());
  }
  return {};
}

// The certificate must be for that host.
TlsFailure Carrier::expect(const std::string& host) {
  connection_.reset(tls_.SSL_new(context_.get()));
  if (connection_ == nullptr || tls_.SSL_set_fd(connection_.get(), network_.get()) != 1) {
    return failure(TlsTrouble::no_resource, words());
  }
  openssl::VerifyParameter* const expected = tls_.SSL_get0_param(connection_.get());
  tls_.X509_VERIFY_PARAM_set_hostflags(expected, openssl::no_partial_wildcards);
  if (tls_.X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str()) == 1) return {};
  tls_.ERR_clear_error();
  std::string name = host;
  if (tls_.X509_VERIFY_PARAM_set1_host(expected, name.c_str(), name.size()) != 1 ||
      tls_.SSL_ctrl(connection_.get(), openssl::ctrl_set_host_name, 0, name.data()) != 1) {
    return failure(TlsTrouble::not_trusted, host + " cannot be the name of a TLS server");
  }
  return {};
}

TlsFailure Carrier::shake_hands(const std::string& host, const TlsFiles& files,
                                std::int64_t deadline_ns) {
  {
    const ExitGate::Inside inside(ExitGate::get());
    if (TlsFailure bad = configure(files); !bad.ok()) return bad;
    if (TlsFailure bad = expect(host); !bad.ok()) return bad;
  }
  while (true) {
    int error = 0;
    {
      const ExitGate::Inside inside(ExitGate::get());
      tls_.ERR_clear_error();
      const int result = tls_.SSL_connect(connection_.get());
      if (result == 1) return {};
      error = tls_.SSL_get_error(connection_.get(), result);
      const bool waits = error == openssl::error_want_read || error == openssl::error_want_write;
      if (!waits) return handshake_failed();
    }
    if (!wait_for_network(error, deadline_ns)) {
      return failure(TlsTrouble::timed_out, "the server does not complete the TLS handshake");
    }
  }
}

TlsFailure Carrier::handshake_failed() {
  constexpr long verify_ok = 0;
  const long verified = tls_.SSL_get_verify_result(connection_.get());
  if (verified != verify_ok) {
    tls_.ERR_clear_error();
    return failure(TlsTrouble::not_trusted, tls_.X509_verify_cert_error_string(verified));
  }
  std::string said = words();
  const bool is_refused = is_about_certificate(last_error_);
  return failure(is_refused ? TlsTrouble::refused : TlsTrouble::not_tls, std::move(said));
}

bool Carrier::wait_for_network(int error, std::int64_t deadline_ns) {
  const short wanted = error == openssl::error_want_write ? POLLOUT : POLLIN;
  pollfd network{network_.get(), wanted, 0};
  while (true) {
    const int ready = ::poll(&network, 1, milliseconds_until(deadline_ns));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

TlsFailure Carrier::carry() {
  while (move_all()) sleep();
  return why_;
}

// Until nothing moves. False: an end is gone.
bool Carrier::move_all() {
  bool has_moved = true;
  while (has_moved) {
    has_moved = false;
    wants_network_room_ = false;
    for (const Step step : {read_network(), write_link(), read_link(), write_network()}) {
      if (step == Step::ended || step == Step::failed) return false;
      has_moved = has_moved || step == Step::moved;
    }
  }
  return true;
}

Step Carrier::of_result(int result) {
  const int error = tls_.SSL_get_error(connection_.get(), result);
  if (error == openssl::error_want_read) return Step::waits;
  if (error == openssl::error_want_write) {
    wants_network_room_ = true;
    return Step::waits;
  }
  if (error == openssl::error_zero_return) return Step::ended;
  std::string said = words();
  why_ = {is_about_certificate(last_error_) ? TlsTrouble::refused : TlsTrouble::lost,
          std::move(said)};
  return Step::failed;
}

// A read gives one record, so several fill the buffer.
Step Carrier::read_network() {
  if (server_has_ended_ || !in_.is_empty()) return Step::waits;
  Step step = Step::waits;
  const ExitGate::Inside inside(ExitGate::get());
  while (in_.end < in_.bytes.size()) {
    tls_.ERR_clear_error();
    const int room = static_cast<int>(in_.bytes.size() - in_.end);
    const int got = tls_.SSL_read(connection_.get(), in_.bytes.data() + in_.end, room);
    if (got > 0) {
      in_.end += static_cast<std::size_t>(got);
      step = Step::moved;
      continue;
    }
    const Step last = of_result(got);
    if (last == Step::failed && in_.is_empty()) return last;
    server_has_ended_ = last == Step::ended || last == Step::failed;
    return server_has_ended_ ? Step::moved : step;
  }
  return step;
}

// What came before the server's end goes to the link first.
Step Carrier::write_link() {
  if (in_.is_empty()) return server_has_ended_ ? Step::ended : Step::waits;
  const ssize_t sent = ::send(link_.get(), in_.bytes.data() + in_.begin, in_.end - in_.begin,
                              MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) return errno == EAGAIN || errno == EINTR ? Step::waits : Step::ended;
  in_.take(static_cast<std::size_t>(sent));
  return Step::moved;
}

Step Carrier::read_link() {
  if (link_has_ended_ || !out_.is_empty()) return Step::waits;
  const ssize_t got = ::recv(link_.get(), out_.bytes.data(), out_.bytes.size(), MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? Step::waits : Step::ended;
  link_has_ended_ = got == 0;
  out_.end = static_cast<std::size_t>(got);
  return Step::moved;
}

Step Carrier::write_network() {
  const ExitGate::Inside inside(ExitGate::get());
  tls_.ERR_clear_error();
  if (out_.is_empty()) {
    if (!link_has_ended_) return Step::waits;
    // Tells the server that the bytes are whole. Whether it goes out does not matter to us.
    (void)tls_.SSL_shutdown(connection_.get());
    return Step::ended;
  }
  const int bytes = static_cast<int>(out_.end - out_.begin);
  const int sent = tls_.SSL_write(connection_.get(), out_.bytes.data() + out_.begin, bytes);
  if (sent <= 0) return of_result(sent);
  out_.take(static_cast<std::size_t>(sent));
  return Step::moved;
}

void Carrier::sleep() {
  std::array<pollfd, 2> sides = {pollfd{network_.get(), 0, 0}, pollfd{link_.get(), 0, 0}};
  if (in_.is_empty()) {
    sides[0].events = POLLIN;
  } else {
    sides[1].events = POLLOUT;
  }
  if (wants_network_room_) sides[0].events |= POLLOUT;
  if (out_.is_empty()) sides[1].events |= POLLIN;
  // The end of a side at which nothing is wanted must not wake us.
  for (pollfd& side : sides) {
    if (side.events == 0) side.fd = -1;
  }
  (void)::poll(sides.data(), sides.size(), -1);
}

// Shared by the caller and the connection's thread.
struct Handshake {
  Mutex mutex;
  Condition done;
  bool is_done IW_GUARDED_BY(mutex) = false;
  TlsFailure failure IW_GUARDED_BY(mutex);
};

void tell(Handshake& handshake, TlsFailure failure) {
  const MutexLock lock(handshake.mutex);
  handshake.failure = std::move(failure);
  handshake.is_done = true;
  handshake.done.notify_one();
}

// Signals are for the program's threads, and a connection that breaks must not send SIGPIPE.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

void run(Carrier& carrier, const std::string& host, const TlsFiles& files, std::int64_t deadline_ns,
         Handshake& handshake, TlsEnd& end) {
  TlsFailure failure = carrier.shake_hands(host, files, deadline_ns);
  const bool is_made = failure.ok();
  tell(handshake, std::move(failure));
  if (is_made) end.note(carrier.carry());
  carrier.part();
  const ExitGate::Inside inside(ExitGate::get());
  carrier.free();
}

}  // namespace

TlsFailure encrypt(Socket& socket, const std::string& host, const TlsFiles& files,
                   std::int64_t deadline_ns, std::shared_ptr<const TlsEnd>& end) {
  const char* why = "";
  const Functions* const tls = openssl::functions(why);
  if (tls == nullptr) return {TlsTrouble::no_library, why};
  (void)ExitGate::get();
  int pair[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
    return {TlsTrouble::no_resource, error_text(errno)};
  }
  Socket decrypted{FileDescriptor(pair[0])};
  FileDescriptor others(pair[1]);
  const auto handshake = std::make_shared<Handshake>();
  const auto ending = std::make_shared<TlsEnd>();
  auto carrier = std::make_unique<Carrier>(*tls, socket.take(), std::move(others));
  try {
    std::thread([=, carrier = std::move(carrier)] {
      block_signals();
      try {
        run(*carrier, host, files, deadline_ns, *handshake, *ending);
      } catch (const std::bad_alloc&) {
        carrier->part();
        tell(*handshake, {TlsTrouble::no_resource, {}});
      }
    }).detach();
  } catch (const std::system_error&) {
    return {TlsTrouble::no_resource, "no thread can be made for an encrypted connection"};
  }
  const MutexLock lock(handshake->mutex);
  while (!handshake->is_done) handshake->done.wait(handshake->mutex);
  if (!handshake->failure.ok()) return handshake->failure;
  socket = std::move(decrypted);
  end = ending;
  return {};
}

}  // namespace iw::platform
