// Inside platform: OpenSSL 3, found when the first iws:// URL is opened. The declarations are our
// own, so that a build needs no header of OpenSSL and a program does not depend on the library
// (docs/decisions/2026-11-26-tls-in-the-native-client.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "platform/mutex.h"
#include "platform/no_fork.h"

namespace iw::platform::openssl {

struct Context;  // SSL_CTX
struct Session;  // SSL
struct Method;   // SSL_METHOD
struct Checks;   // X509_VERIFY_PARAM
struct Bio;
struct BioMethod;

// Each row: result, name, parameters.
#define IW_OPENSSL_FUNCTIONS(ROW)                                               \
  ROW(int, OPENSSL_init_ssl, (std::uint64_t, const void*))                      \
  ROW(const Method*, TLS_client_method, ())                                     \
  ROW(Context*, SSL_CTX_new, (const Method*))                                   \
  ROW(void, SSL_CTX_free, (Context*))                                           \
  ROW(long, SSL_CTX_ctrl, (Context*, int, long, void*))                         \
  ROW(void, SSL_CTX_set_verify, (Context*, int, void*))                         \
  ROW(int, SSL_CTX_set_default_verify_paths, (Context*))                        \
  ROW(const char*, X509_get_default_cert_file, ())                              \
  ROW(const char*, X509_get_default_cert_dir, ())                               \
  ROW(int, SSL_CTX_load_verify_locations, (Context*, const char*, const char*)) \
  ROW(int, SSL_CTX_use_certificate_chain_file, (Context*, const char*))         \
  ROW(int, SSL_CTX_use_PrivateKey_file, (Context*, const char*, int))           \
  ROW(int, SSL_CTX_check_private_key, (const Context*))                         \
  ROW(Session*, SSL_new, (Context*))                                            \
  ROW(void, SSL_free, (Session*))                                               \
  ROW(void, SSL_set_bio, (Session*, Bio*, Bio*))                                \
  ROW(long, SSL_ctrl, (Session*, int, long, void*))                             \
  ROW(int, SSL_set_alpn_protos, (Session*, const unsigned char*, unsigned))     \
  ROW(Checks*, SSL_get0_param, (Session*))                                      \
  ROW(void, X509_VERIFY_PARAM_set_hostflags, (Checks*, unsigned))               \
  ROW(int, X509_VERIFY_PARAM_set1_host, (Checks*, const char*, std::size_t))    \
  ROW(int, X509_VERIFY_PARAM_set1_ip_asc, (Checks*, const char*))               \
  ROW(long, SSL_get_verify_result, (const Session*))                            \
  ROW(const char*, X509_verify_cert_error_string, (long))                       \
  ROW(int, SSL_connect, (Session*))                                             \
  ROW(int, SSL_read, (Session*, void*, int))                                    \
  ROW(int, SSL_write, (Session*, const void*, int))                             \
  ROW(int, SSL_pending, (const Session*))                                       \
  ROW(int, SSL_get_error, (const Session*, int))                                \
  ROW(Bio*, BIO_new_socket, (int, int))                                         \
  ROW(const BioMethod*, BIO_s_mem, ())                                          \
  ROW(Bio*, BIO_new, (const BioMethod*))                                        \
  ROW(int, BIO_free, (Bio*))                                                    \
  ROW(int, BIO_read, (Bio*, void*, int))                                        \
  ROW(void, OPENSSL_thread_stop, ())                                            \
  ROW(unsigned long, ERR_peek_error, ())                                        \
  ROW(void, ERR_clear_error, ())                                                \
  ROW(const char*, ERR_reason_error_string, (unsigned long))

struct Functions {
#define IW_DECLARE(result, name, parameters) result(*name) parameters = nullptr;
  IW_OPENSSL_FUNCTIONS(IW_DECLARE)
#undef IW_DECLARE
};

// The numbers of OpenSSL 3's headers, which are part of its binary interface.
inline constexpr std::uint64_t init_no_atexit = 0x00080000;
inline constexpr int ctrl_set_server_name = 55;
inline constexpr int ctrl_set_min_version = 123;
inline constexpr long tls_1_3 = 0x0304;
inline constexpr int verify_peer = 1;
inline constexpr int file_is_pem = 1;
inline constexpr int close_nothing = 0;
inline constexpr unsigned no_partial_wildcards = 4;
inline constexpr int error_in_tls = 1;
inline constexpr int error_want_read = 2;
inline constexpr int error_in_system = 5;
inline constexpr int error_closed = 6;
inline constexpr unsigned long reason_not_verified = 134;
inline constexpr unsigned long reason_unexpected_end = 294;
inline constexpr unsigned long reason_of_alert_0 = 1000;

inline unsigned long reason_of(unsigned long error) { return error & 0x7FFFFF; }

// An error of the system in the place of a reason has this bit, and an errno value.
inline constexpr unsigned long system_error = 0x80000000;

// For the analysis: a thread is inside of OpenSSL, which takes locks of the whole process.
class IW_CAPABILITY("OpenSSL") Inside {};
inline Inside inside;

// A thread has one while it calls OpenSSL, so that no child is forked with OpenSSL's locks held.
class IW_SCOPED_CAPABILITY Visit {
 public:
  Visit() noexcept IW_ACQUIRE_SHARED(inside);
  ~Visit() IW_RELEASE() {}
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  const NoFork no_fork_;
};

// Null if the system has no libssl.so.3 with all of these; `why` then names what is missing.
const Functions* functions(std::string& why);

}  // namespace iw::platform::openssl
