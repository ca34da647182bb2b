// See tls_contexts.h.
#include "platform/tls_contexts.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "platform/file_identity.h"
#include "platform/mutex.h"
#include "platform/process.h"

namespace iw::platform {

namespace {

// A process has few sets of files. Of more, those that were used least lately are read each time.
constexpr std::size_t most_kept = 8;
// A file that was written so shortly before may change again without another mark, because times
// of files are coarse.
constexpr std::chrono::seconds fresh{2};
// As OpenSSL has it.
#ifdef _WIN32
constexpr char between_folders = ';';
#else
constexpr char between_folders = ':';
#endif

// A file that was replaced or written has another mark.
struct Mark {
  std::optional<std::filesystem::file_time_type> written;  // none: there is no such file
  std::uintmax_t size_bytes = 0;
  std::optional<FileIdentity> identity;

  bool operator==(const Mark&) const = default;
};

struct Key {
  std::array<std::string, 3> files;
  // Of the files, and of what stands for a file of authorities that is not named.
  std::vector<std::string> marked;
  std::vector<Mark> marks;
  unsigned fork_count = 0;

  bool operator==(const Key&) const = default;
};

struct Kept {
  Key key;
  std::shared_ptr<openssl::Context> context;
};

struct Contexts {
  Mutex mutex;
  // The last one was used last.
  std::vector<Kept> kept IW_GUARDED_BY(mutex);
  // Of no use, and not freed: other threads of the parent may have held their locks.
  std::vector<std::vector<Kept>> of_parents IW_GUARDED_BY(mutex);
};

// Is there until the process ends, because threads may be inside it.
Contexts& contexts() {
  static Contexts& all = *new Contexts;
  return all;
}

Mark mark_of(const std::string& file) {
  std::error_code none;
  const std::filesystem::path path(file);
  const auto written = std::filesystem::last_write_time(path, none);
  if (none) return {};
  // A folder has no size.
  return {.written = written,
          .size_bytes = std::filesystem::file_size(path, none),
          .identity = identity_of(file)};
}

std::string value_of(const char* variable, const char* usual) {
  const char* const named = std::getenv(variable);
  const char* const value = named == nullptr ? usual : named;
  return value == nullptr ? "" : value;
}

// The system's authorities, as OpenSSL finds them: a file, and folders of one file for each. Files
// of a folder are read when they are needed. A folder that gets or loses a file has another mark.
std::vector<std::string> default_authorities(const openssl::Functions& library) {
  std::vector<std::string> all{value_of("SSL_CERT_FILE", library.X509_get_default_cert_file())};
  const std::string folders = value_of("SSL_CERT_DIR", library.X509_get_default_cert_dir());
  for (std::size_t at = 0; at <= folders.size();) {
    const std::size_t end = std::min(folders.find(between_folders, at), folders.size());
    all.push_back(folders.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

Key key_of(const openssl::Functions& library, const TlsFiles& files) {
  // A default file and the same one by name are used in different ways.
  Key key{.files = {files.authorities, files.certificate, files.key},
          .marked = {},
          .marks = {},
          .fork_count = fork_count()};
  if (files.authorities.empty()) key.marked = default_authorities(library);
  key.marked.insert(key.marked.end(), key.files.begin(), key.files.end());
  for (const std::string& file : key.marked) {
    key.marks.push_back(file.empty() ? Mark{} : mark_of(file));
  }
  return key;
}

// Whether a file may change, or has changed, without another mark.
bool is_fresh(const Key& key) {
  const auto latest = std::filesystem::file_time_type::clock::now() - fresh;
  return std::ranges::any_of(key.marks, [&](const Mark& mark) {
    return mark.written && (*mark.written > latest || !mark.identity);
  });
}

void leave_those_of_a_parent(Contexts& all, unsigned fork_count) IW_REQUIRES(all.mutex) {
  if (all.kept.empty() || all.kept.back().key.fork_count == fork_count) return;
  all.of_parents.push_back(std::move(all.kept));
  all.kept = {};
}

std::shared_ptr<openssl::Context> find(const Key& key) {
  Contexts& all = contexts();
  // In a child the mutex stays locked for ever if a thread of the parent held it and the fork did
  // not wait for that thread.
  if (!all.mutex.try_lock()) return nullptr;
  const MutexLock lock(all.mutex, std::adopt_lock);
  leave_those_of_a_parent(all, key.fork_count);
  const auto found = std::ranges::find(all.kept, key, &Kept::key);
  if (found == all.kept.end()) return nullptr;
  std::rotate(found, found + 1, all.kept.end());
  return all.kept.back().context;
}

void keep(Key key, const std::shared_ptr<openssl::Context>& context) {
  Contexts& all = contexts();
  if (is_fresh(key) || !all.mutex.try_lock()) return;
  const MutexLock lock(all.mutex, std::adopt_lock);
  leave_those_of_a_parent(all, key.fork_count);
  // The context of the same files as they were before.
  std::erase_if(all.kept, [&](const Kept& one) { return one.key.files == key.files; });
  if (all.kept.size() >= most_kept) all.kept.erase(all.kept.begin());
  all.kept.push_back({std::move(key), context});
}

bool has_certificate(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    for (const char* const kind : {"CERTIFICATE", "TRUSTED CERTIFICATE", "X509 CERTIFICATE"}) {
      if (line.rfind("-----BEGIN " + std::string(kind) + "-----", 0) == 0) return true;
    }
  }
  return false;
}

// `option` and `variable`: where the file may be named.
TlsResult unusable(const openssl::Functions& library, const char* variable, const char* option,
                   const std::string& file) IW_REQUIRES_SHARED(openssl::inside) {
  const unsigned long error = library.ERR_peek_error();
  const bool is_of_system = (error & openssl::system_error) != 0;
  const int code = is_of_system ? static_cast<int>(error & ~openssl::system_error) : 0;
  if (is_shortage(code)) return shortage_of(code);
  const bool is_key = std::strcmp(option, "key") == 0;
  const char* why = is_of_system ? error_text(code) : reason_text(library);
  if (!is_of_system && !is_key && !has_certificate(file)) {
    why = "it holds no certificate in PEM form";
  }
  const char* const instead = is_of_system ? "a file that this program may read"
                              : is_key     ? "the PEM file of the certificate's key"
                                           : "a PEM file of certificates";
  return {TlsTrouble::files, "the file " + file + " of " + variable + " or of the option " +
                                 option + " cannot be used: " + why + "; name " + instead};
}

TlsResult use_files(const openssl::Functions& library, openssl::Context* context,
                    const TlsFiles& files) IW_REQUIRES_SHARED(openssl::inside) {
  if (files.authorities.empty()) {
    library.SSL_CTX_set_default_verify_paths(context);
  } else if (library.SSL_CTX_load_verify_locations(context, files.authorities.c_str(), nullptr) !=
             1) {
    return unusable(library, "IW_CA", "ca", files.authorities);
  } else if (!has_certificate(files.authorities)) {
    // OpenSSL takes a list of revoked certificates, and then trusts nobody.
    library.ERR_clear_error();
    return unusable(library, "IW_CA", "ca", files.authorities);
  }
  if (files.certificate.empty() != files.key.empty()) {
    return {TlsTrouble::files,
            "IW_CERT and IW_KEY, or the options cert and key, go together, and one is not set"};
  }
  if (files.certificate.empty()) return {};
  if (library.SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1) {
    return unusable(library, "IW_CERT", "cert", files.certificate);
  }
  if (library.SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), openssl::file_is_pem) != 1 ||
      library.SSL_CTX_check_private_key(context) != 1) {
    return unusable(library, "IW_KEY", "key", files.key);
  }
  return {};
}

}  // namespace

const char* reason_text(const openssl::Functions& library) {
  const char* const text = library.ERR_reason_error_string(library.ERR_peek_error());
  return text == nullptr ? "TLS failed" : text;
}

TlsResult shortage_of(int error) { return {TlsTrouble::shortage, shortage_text(error)}; }

TlsResult context_for(const openssl::Functions& library, const TlsFiles& files,
                      std::shared_ptr<openssl::Context>& out) {
  Key key = key_of(library, files);
  out = find(key);
  if (out != nullptr) return {};
  openssl::Context* const made = library.SSL_CTX_new(library.TLS_client_method());
  if (made == nullptr) return shortage_of(ENOMEM);
  std::shared_ptr<openssl::Context> context(
      made, [&library](openssl::Context* one) { library.SSL_CTX_free(one); });
  library.SSL_CTX_ctrl(made, openssl::ctrl_set_min_version, openssl::tls_1_3, nullptr);
  library.SSL_CTX_set_verify(made, openssl::verify_peer, nullptr);
  if (TlsResult bad = use_files(library, made, files); !bad) return bad;
  keep(std::move(key), context);
  out = std::move(context);
  return {};
}

}  // namespace iw::platform
