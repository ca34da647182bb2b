#include "fabric/job_key.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "platform/mutex.h"

namespace iw::fabric {
namespace {

constexpr std::size_t key_text_bytes_max = 256;  // with blanks

struct Remembered {
  platform::Mutex mutex;
  JobKey key IW_GUARDED_BY(mutex);
};

Remembered& remembered() {
  static auto* const only = new Remembered;
  return *only;
}

int value_of_digit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

// Closes it at the end.
class File {
 public:
  File(const std::string& name, int flags)
      : fd_(open(name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

// "" if only the user may read and write it.
std::string why_not_private(int fd) {
  struct stat is;
  if (fstat(fd, &is) != 0) return std::strerror(errno);
  if (!S_ISREG(is.st_mode)) return "is not a plain file";
  if (is.st_uid != geteuid()) return "belongs to another user";
  const bool is_private = (is.st_mode & (S_IRWXG | S_IRWXO)) == 0;
  return is_private ? "" : "may be read or written by others; chmod 600";
}

// Complete from the moment that it is there; the first that makes it wins.
bool make_key_file(const std::string& name, std::string* error) {
  const std::string unfinished = name + "." + JobKey::draw().text().substr(0, 8) + ".new";
  const std::string text = JobKey::draw().text() + "\n";
  bool is_made = false;
  {
    const File file(unfinished, O_WRONLY | O_CREAT | O_EXCL);
    is_made = file.fd() >= 0 &&
              write(file.fd(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
              fsync(file.fd()) == 0;
  }
  is_made = is_made && (link(unfinished.c_str(), name.c_str()) == 0 || errno == EEXIST);
  if (!is_made) *error = name + ": " + std::strerror(errno);
  unlink(unfinished.c_str());
  return is_made;
}

}  // namespace

JobKey JobKey::draw() {
  JobKey key;
  if (getrandom(key.bytes_.data(), key.bytes_.size(), 0) !=
      static_cast<ssize_t>(key.bytes_.size())) {
    std::abort();
  }
  key.is_secret_ = true;
  return key;
}

bool JobKey::from_text(const std::string& text, JobKey* key) {
  constexpr const char* blanks = " \t\r\n";
  std::array<std::byte, job_key_bytes> bytes;
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string::npos) return false;
  const std::size_t size = text.find_last_not_of(blanks) + 1 - begin;
  if (size != 2 * job_key_bytes) return false;
  for (std::size_t i = 0; i < job_key_bytes; i++) {
    const int high = value_of_digit(text[begin + 2 * i]);
    const int low = value_of_digit(text[begin + 2 * i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i] = static_cast<std::byte>(high * 16 + low);
  }
  return from_bytes(bytes, key);
}

bool JobKey::from_bytes(Bytes bytes, JobKey* key) {
  const auto is_zero = [](std::byte each) { return each == std::byte{0}; };
  if (bytes.size() != job_key_bytes || std::ranges::all_of(bytes, is_zero)) return false;
  std::copy(bytes.begin(), bytes.end(), key->bytes_.begin());
  key->is_secret_ = true;
  return true;
}

std::string JobKey::text() const {
  std::string text;
  for (const std::byte each : bytes_) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", std::to_integer<unsigned>(each));
    text += digits;
  }
  return text;
}

Proof JobKey::prove(const char* label, std::initializer_list<Bytes> parts) const {
  std::vector<unsigned char> said(label, label + std::strlen(label));
  for (const Bytes part : parts) {
    const auto* begin = reinterpret_cast<const unsigned char*>(part.data());
    said.insert(said.end(), begin, begin + part.size());
  }
  Proof proof;
  unsigned size = 0;
  const auto* made = HMAC(EVP_sha256(), bytes_.data(), static_cast<int>(bytes_.size()), said.data(),
                          said.size(), reinterpret_cast<unsigned char*>(proof.data()), &size);
  if (made == nullptr || size != proof.size()) std::abort();
  return proof;
}

bool JobKey::is_proven(const Proof& proof, const char* label,
                       std::initializer_list<Bytes> parts) const {
  const Proof right = prove(label, parts);
  return CRYPTO_memcmp(right.data(), proof.data(), right.size()) == 0;
}

bool read_key_of_environment(JobKey* key, std::string* error) {
  *key = {};
  const char* const text = std::getenv("IW_CLUSTER_KEY");
  const char* const file = std::getenv("IW_CLUSTER_KEY_FILE");
  if (text == nullptr && file == nullptr) return true;
  const char* const name = text != nullptr ? "IW_CLUSTER_KEY" : "IW_CLUSTER_KEY_FILE";
  if (*(text != nullptr ? text : file) == '\0') {  // [HELLO-9]
    *error = std::string(name) + " is set and empty: unset it, or " + how_to_set_a_key;
    return false;
  }
  const bool is_read =
      text != nullptr ? JobKey::from_text(text, key) : read_key_file(file, key, error);
  if (is_read) return true;
  *error = text != nullptr
               ? "IW_CLUSTER_KEY is not 32 hexadecimal digits, at least one of them not 0 "
                 "(openssl rand -hex 16 prints some)"
               : "IW_CLUSTER_KEY_FILE: " + *error;
  return false;
}

bool find_job_key(JobKey* key, std::string* error) {
  if (!read_key_of_environment(key, error)) return false;
  if (key->is_secret()) return true;
  const platform::MutexLock held(remembered().mutex);
  *key = remembered().key;
  return true;
}

void remember_job_key(const JobKey& key) {
  const platform::MutexLock held(remembered().mutex);
  remembered().key = key;
}

bool read_key_file(const std::string& name, JobKey* key, std::string* error) {
  const File file(name, O_RDONLY | O_NONBLOCK);
  if (file.fd() < 0) {
    *error = "the file " + name + ": " + std::strerror(errno);
    return false;
  }
  if (const std::string why = why_not_private(file.fd()); !why.empty()) {
    *error = "the file " + name + " " + why;
    return false;
  }
  char text[key_text_bytes_max];
  const ssize_t size = read(file.fd(), text, sizeof text);
  if (size >= 0 && JobKey::from_text(std::string(text, static_cast<std::size_t>(size)), key)) {
    return true;
  }
  *error = "the file " + name + " does not hold 32 hexadecimal digits, at least one of them not 0";
  return false;
}

bool share_key_by_folder(const std::string& folder, JobKey* key, std::string* error) {
  const std::string name = folder + "/job.key";
  if (access(name.c_str(), F_OK) != 0 && !make_key_file(name, error)) return false;
  return read_key_file(name, key, error);
}

}  // namespace iw::fabric
