// See tls.h and tls_stream.h.
#include "platform/tls_stream.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <memory>

#include "platform/socket_waits.h"
#include "platform/tls_contexts.h"

namespace iw::platform {

namespace {

constexpr std::size_t record_bytes = std::size_t{16} << 10;
constexpr std::size_t burst_bytes = 4 * record_bytes;
// A record has 22 bytes more than what it carries.
constexpr std::size_t out_bytes = burst_bytes + (std::size_t{1} << 10);
constexpr std::array<unsigned char, 5> alpn{4, 'i', 'w', '/', '2'};

// A file or a library that cannot be read may be one for which no descriptor is left.
Status descriptor_for_a_file() {
  WakeUp any;
  return WakeUp::create(any);
}

// Whether the error is the server's alert that it does not take this client or its certificate.
bool is_refusal(unsigned long reason) {
  if (reason < openssl::reason_of_alert_0) return false;
  const unsigned long alert = reason - openssl::reason_of_alert_0;
  constexpr unsigned long bad_certificate = 42;
  constexpr unsigned long certificate_unknown = 46;
  constexpr unsigned long unknown_ca = 48;
  constexpr unsigned long access_denied = 49;
  constexpr unsigned long certificate_required = 116;
  return (alert >= bad_certificate && alert <= certificate_unknown) || alert == unknown_ca ||
         alert == access_denied || alert == certificate_required;
}

// Asks for the host, and wants its certificate to name it.
bool expect_host(const openssl::Functions& library, openssl::Session* session,
                 const std::string& host) IW_REQUIRES_SHARED(openssl::inside) {
  openssl::Checks* const checks = library.SSL_get0_param(session);
  if (library.X509_VERIFY_PARAM_set1_ip_asc(checks, host.c_str()) == 1) return true;
  library.ERR_clear_error();
  library.X509_VERIFY_PARAM_set_hostflags(checks, openssl::no_partial_wildcards);
  return library.X509_VERIFY_PARAM_set1_host(checks, host.c_str(), host.size()) == 1 &&
         library.SSL_ctrl(session, openssl::ctrl_set_server_name, 0,
                          const_cast<char*>(host.c_str())) == 1;
}

}  // namespace

// Frees without a word to the server.
TlsStream::~TlsStream() {
  const MutexLock lock(mutex_);
  const openssl::Visit visit;
  if (session_ != nullptr && !is_retired_) library_.SSL_free(session_);
}

TlsResult TlsStream::prepare(const std::string& host, const TlsFiles& files) {
  const MutexLock lock(mutex_);
  const openssl::Visit visit;
  const TlsResult shortage = shortage_of(ENOMEM);
  library_.ERR_clear_error();
  gathered_.reserve(burst_bytes);
  out_.resize(out_bytes);
  std::shared_ptr<openssl::Context> context;
  if (TlsResult bad = context_for(library_, files, context); !bad) return bad;
  session_ = library_.SSL_new(context.get());
  if (session_ == nullptr) return shortage;
  openssl::Bio* const read = library_.BIO_new_socket(fd_, openssl::close_nothing);
  written_ = library_.BIO_new(library_.BIO_s_mem());
  if (read == nullptr || written_ == nullptr) {
    if (read != nullptr) library_.BIO_free(read);
    if (written_ != nullptr) library_.BIO_free(written_);
    return shortage;
  }
  library_.SSL_set_bio(session_, read, written_);
  const bool is_set = library_.SSL_set_alpn_protos(session_, alpn.data(), alpn.size()) == 0 &&
                      expect_host(library_, session_, host);
  return is_set ? TlsResult{} : shortage;
}

TlsResult TlsStream::connect(const std::string& host, const TlsFiles& files,
                             std::int64_t deadline_ns) {
  if (TlsResult bad = prepare(host, files); !bad) return bad;
  while (true) {
    bool is_full = false;
    {
      const MutexLock lock(mutex_);
      const openssl::Visit visit;
      library_.ERR_clear_error();
      errno = 0;
      const int said = library_.SSL_connect(session_);
      const TlsResult result = said == 1 ? TlsResult{} : why_not_connected(said);
      const Status sent = flush_some();  // also an alert that says why it fails
      is_full = !is_flushed();
      if (!result) return result;
      if (!sent) return {TlsTrouble::not_tls, error_text(sent.code)};
      if (said == 1) return {};
    }
    Interest interest{.fd = fd_, .want_write = is_full};
    if (Status bad = wait_for({&interest, 1}, deadline_ns); !bad) {
      return shortage_of(bad.code);
    }
    if (!interest.readable && !interest.writable) {
      return {TlsTrouble::timed_out, "the server does not answer TLS"};
    }
  }
}

TlsResult TlsStream::why_not_connected(int said) {
  const int saved_errno = errno;
  const int kind = library_.SSL_get_error(session_, said);
  if (kind == openssl::error_want_read) return {};
  if (kind == openssl::error_in_system && saved_errno != 0) {
    return {TlsTrouble::not_tls, error_text(saved_errno)};
  }
  if (kind != openssl::error_in_tls) return {TlsTrouble::not_tls, "it hung up"};
  const unsigned long reason = openssl::reason_of(library_.ERR_peek_error());
  if (reason == openssl::reason_not_verified) {
    return {TlsTrouble::not_trusted,
            library_.X509_verify_cert_error_string(library_.SSL_get_verify_result(session_))};
  }
  if (is_refusal(reason)) return {TlsTrouble::refused, reason_text(library_)};
  if (reason == openssl::reason_unexpected_end) return {TlsTrouble::not_tls, "it hung up"};
  return {TlsTrouble::not_tls, reason_text(library_)};
}

Status TlsStream::flush_some() {
  const openssl::Visit visit;
  while (true) {
    if (is_flushed()) {
      const int got = library_.BIO_read(written_, out_.data(), static_cast<int>(out_.size()));
      if (got <= 0) return {};
      out_begin_ = 0;
      out_end_ = static_cast<std::size_t>(got);
    }
    const Slice unsent{out_.data() + out_begin_, out_end_ - out_begin_};
    std::size_t sent = 0;
    if (Status bad = send_plain(fd_, {&unsent, 1}, sent); !bad) return bad;
    if (sent == 0) return {};
    out_begin_ += sent;
  }
}

Status TlsStream::flush(bool& is_empty) {
  const MutexLock lock(mutex_);
  if (is_retired_) return {EPIPE, "the process ends"};
  Status sent = flush_some();
  is_empty = is_flushed();
  return sent;
}

// Small slices become one record; a record for each would be dear. A large one is not copied.
std::span<const std::byte> TlsStream::burst_of(std::span<const Slice> slices) {
  while (!slices.empty() && slices[0].size_bytes == 0) slices = slices.subspan(1);
  if (!slices.empty() && slices[0].size_bytes >= burst_bytes) {
    return {static_cast<const std::byte*>(slices[0].data), burst_bytes};
  }
  gathered_.clear();
  for (const Slice& slice : slices) {
    const std::size_t taken = std::min(slice.size_bytes, burst_bytes - gathered_.size());
    const auto* const from = static_cast<const std::byte*>(slice.data);
    if (taken > 0) gathered_.insert(gathered_.end(), from, from + taken);
  }
  return gathered_;
}

Status TlsStream::send_some(std::span<const Slice> slices, std::size_t& sent_bytes) {
  sent_bytes = 0;
  const MutexLock lock(mutex_);
  if (is_retired_) return {EPIPE, "the process ends"};
  if (Status bad = flush_some(); !bad) return bad;
  if (!is_flushed()) return {};
  const std::span<const std::byte> burst = burst_of(slices);
  if (burst.empty()) return {};
  const openssl::Visit visit;
  library_.ERR_clear_error();
  if (library_.SSL_write(session_, burst.data(), static_cast<int>(burst.size())) <= 0) {
    return {EPROTO, reason_text(library_)};
  }
  sent_bytes = burst.size();
  return flush_some();
}

Status TlsStream::read_some(std::span<std::byte> into, std::size_t& got_bytes) {
  library_.ERR_clear_error();
  const auto most = static_cast<int>(std::min<std::size_t>(into.size(), INT_MAX));
  errno = 0;
  const int got = library_.SSL_read(session_, into.data(), most);
  if (got > 0) {
    got_bytes = static_cast<std::size_t>(got);
    return {};
  }
  const int saved_errno = errno;
  switch (library_.SSL_get_error(session_, got)) {
    case openssl::error_want_read:
      return {EAGAIN, "nothing to receive now"};
    case openssl::error_closed:
      return {};
    case openssl::error_in_system:
      return {saved_errno == 0 ? ECONNRESET : saved_errno, "receive"};
    default:
      break;
  }
  const unsigned long reason = openssl::reason_of(library_.ERR_peek_error());
  if (reason == openssl::reason_unexpected_end) return {ECONNRESET, "receive"};
  return {is_refusal(reason) ? EACCES : EPROTO, reason_text(library_)};
}

// Fills the room as far as records have come. A failure after some bytes is said at the next call,
// for OpenSSL repeats it.
Status TlsStream::receive(const Space& into, std::size_t& got_bytes) {
  got_bytes = 0;
  const MutexLock lock(mutex_);
  if (is_retired_) return {EPIPE, "the process ends"};
  Status status;
  const openssl::Visit visit;
  for (std::span<std::byte> room : {into.first, into.rest}) {
    while (!room.empty() && status) {
      std::size_t got = 0;
      status = read_some(room, got);
      if (got == 0) break;
      room = room.subspan(got);
      got_bytes += got;
    }
  }
  has_pending_.store(library_.SSL_pending(session_) > 0, std::memory_order_relaxed);
  // The answer to the server's change of keys, for which no other thread may ever send.
  if (Status bad = flush_some(); !bad && got_bytes == 0) return bad;
  return got_bytes > 0 ? Status{} : status;
}

void TlsStream::retire() {
  const MutexLock lock(mutex_);
  is_retired_ = true;
}

TlsResult begin_tls(Socket& socket, const std::string& host, const TlsFiles& files,
                    std::int64_t deadline_ns) {
  std::string why;
  const openssl::Functions* const library = openssl::functions(why);
  if (library == nullptr) {
    const Status any = descriptor_for_a_file();
    if (!any && is_shortage(any.code)) return shortage_of(any.code);
    return {TlsTrouble::no_library, why};
  }
  auto stream = std::make_shared<TlsStream>(*library, socket.fd());
  TlsResult result = stream->connect(host, files, deadline_ns);
  if (result) socket.set_secure(std::move(stream));
  return result;
}

bool prepare_tls() {
  std::string why;
  return openssl::functions(why) != nullptr;
}

}  // namespace iw::platform
