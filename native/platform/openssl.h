// Inside platform: the functions of OpenSSL 3 that the library calls. They come from the system's
// libssl.so.3 when the first URL asks for TLS, so that no build needs OpenSSL and no program
// depends on it. The declarations are those of its manual pages, in our own words.
#pragma once

#include <cstddef>
#include <cstdint>

namespace iw::platform::openssl {

struct Context;          // SSL_CTX
struct Connection;       // SSL
struct Method;           // SSL_METHOD
struct VerifyParameter;  // X509_VERIFY_PARAM

// FUNCTION(result, name, (parameters))
#define IW_OPENSSL_FUNCTIONS(FUNCTION)                                                     \
  FUNCTION(int, OPENSSL_init_ssl, (std::uint64_t options, const void* settings))           \
  FUNCTION(const Method*, TLS_client_method, ())                                           \
  FUNCTION(Context*, SSL_CTX_new, (const Method*))                                         \
  FUNCTION(void, SSL_CTX_free, (Context*))                                                 \
  FUNCTION(long, SSL_CTX_ctrl, (Context*, int command, long number, void* argument))       \
  FUNCTION(void, SSL_CTX_set_verify, (Context*, int mode, void* callback))                 \
  FUNCTION(int, SSL_CTX_set_default_verify_paths, (Context*))                              \
  FUNCTION(int, SSL_CTX_load_verify_file, (Context*, const char* file))                    \
  FUNCTION(int, SSL_CTX_use_certificate_chain_file, (Context*, const char* file))          \
  FUNCTION(int, SSL_CTX_use_PrivateKey_file, (Context*, const char* file, int type))       \
  FUNCTION(int, SSL_CTX_set_alpn_protos, (Context*, const unsigned char*, unsigned))       \
  FUNCTION(Connection*, SSL_new, (Context*))                                               \
  FUNCTION(void, SSL_free, (Connection*))                                                  \
  FUNCTION(int, SSL_set_fd, (Connection*, int fd))                                         \
  FUNCTION(long, SSL_ctrl, (Connection*, int command, long number, void* argument))        \
  FUNCTION(VerifyParameter*, SSL_get0_param, (Connection*))                                \
  FUNCTION(void, X509_VERIFY_PARAM_set_hostflags, (VerifyParameter*, unsigned flags))      \
  FUNCTION(int, X509_VERIFY_PARAM_set1_host, (VerifyParameter*, const char*, std::size_t)) \
  FUNCTION(int, X509_VERIFY_PARAM_set1_ip_asc, (VerifyParameter*, const char* address))    \
  FUNCTION(long, SSL_get_verify_result, (const Connection*))                               \
  FUNCTION(const char*, X509_verify_cert_error_string, (long result))                      \
  FUNCTION(int, SSL_connect, (Connection*))                                                \
  FUNCTION(int, SSL_read, (Connection*, void* room, int bytes))                            \
  FUNCTION(int, SSL_write, (Connection*, const void* from, int bytes))                     \
  FUNCTION(int, SSL_shutdown, (Connection*))                                               \
  FUNCTION(int, SSL_get_error, (const Connection*, int result))                            \
  FUNCTION(unsigned long, ERR_get_error, ())                                               \
  FUNCTION(void, ERR_clear_error, ())                                                      \
  FUNCTION(void, ERR_error_string_n, (unsigned long error, char* room, std::size_t bytes))

struct Functions {
#define IW_DECLARE(result, name, parameters) result(*name) parameters = nullptr;
  IW_OPENSSL_FUNCTIONS(IW_DECLARE)
#undef IW_DECLARE
};

// Constants of the same manual pages.
inline constexpr std::uint64_t init_no_atexit = 0x00080000;
inline constexpr int ctrl_mode = 33;
inline constexpr int ctrl_set_host_name = 55;
inline constexpr int ctrl_set_least_version = 123;
inline constexpr long tls_1_3 = 0x0304;
inline constexpr long mode_partial_write = 1;
inline constexpr long mode_moving_buffer = 2;
inline constexpr int verify_peer = 1;
inline constexpr int file_is_pem = 1;
inline constexpr unsigned no_partial_wildcards = 4;
inline constexpr int error_want_read = 2;
inline constexpr int error_want_write = 3;
inline constexpr int error_zero_return = 6;

// Null: the system has no OpenSSL 3; `why` lives for ever. Thread-safe.
const Functions* functions(const char*& why);

}  // namespace iw::platform::openssl
