// Each process writes files into a folder that all see, complete from the moment that they are
// there: `hello.RANK`, and a file a round, `ROUND.RANK`. Only the user may read them, because a
// process that knows the numbers of a job could take part.
//
// What earlier jobs left there does not count. A hello has a number that its process has drawn and
// the digest of everybody's numbers as they are there to see, and is renewed when that changes. Who
// finds its own digest in every hello knows that all of them are of now: nobody from before has
// seen its number. From then on the digest names the job, and a round's file begins with it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "fabric/hash.h"
#include "fabric/job_key.h"
#include "fabric/rendezvous_means.h"
#include "fabric/secrets.h"

namespace iw::fabric {
namespace {

constexpr std::chrono::milliseconds look_again{1};

struct Hello {
  std::uint64_t number = 0;
  std::uint64_t digest = 0;
};

std::uint64_t digest_of(const std::vector<Hello>& hellos) {
  std::vector<std::uint64_t> numbers;
  for (const Hello& each : hellos) numbers.push_back(each.number);
  return hash(std::as_bytes(std::span(numbers)));
}

// A file that is open. It is the user's alone, and never what a link of another user leads to.
class File {
 public:
  File(const std::string& name, int flags)
      : fd_(open(name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, S_IRUSR | S_IWUSR)) {}
  ~File() { close(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_plain() const {
    struct stat is;
    return fd_ >= 0 && fstat(fd_, &is) == 0 && S_ISREG(is.st_mode);
  }
  bool write_all(Bytes bytes) const {
    return fd_ >= 0 &&
           ::write(fd_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  }
  // False: a file system of the network may not have what was written.
  bool close() { return fd_ >= 0 && ::close(std::exchange(fd_, -1)) == 0; }
  // How many bytes there were, at most as many as there is room for. None: they cannot be read.
  std::optional<std::size_t> read_up_to(std::span<std::byte> bytes) const {
    std::size_t size = 0;
    while (size < bytes.size()) {
      const ssize_t count = ::read(fd_, bytes.data() + size, bytes.size() - size);
      if (count == 0) break;
      if (count < 0 && errno != EINTR) return std::nullopt;
      if (count > 0) size += static_cast<std::size_t>(count);
    }
    return size;
  }

 private:
  int fd_;
};

// A process that was killed may have left an unfinished file.
Status write(const std::string& name, Bytes first, Bytes second) {
  const std::string unfinished = name + ".new";
  unlink(unfinished.c_str());
  File file(unfinished, O_WRONLY | O_CREAT | O_EXCL);
  if (!file.write_all(first) || !file.write_all(second) || !file.close()) return Status::failed;
  return std::rename(unfinished.c_str(), name.c_str()) == 0 ? Status::ok : Status::failed;
}

// False: it is not there, cannot be read, or does not begin with as many bytes as `first` has.
bool read(const std::string& name, std::span<std::byte> first, std::vector<std::byte>* second) {
  const File file(name, O_RDONLY);
  if (!file.is_plain() || file.read_up_to(first) != first.size()) return false;
  second->resize(exchange_bytes_max + 1);
  const auto size = file.read_up_to(*second);
  second->resize(size.value_or(0));
  return size.has_value();
}

class Files final : public Rendezvous {
 public:
  Files(std::string folder, unsigned rank, unsigned size) : folder_(std::move(folder)) {
    rank_ = rank;
    size_ = size;
  }

  Status exchange(Bytes mine, Deadline deadline,
                  std::vector<std::vector<std::byte>>* everybodys) override {
    if (mine.size() > exchange_bytes_max) return Status::bad_argument;
    Status status = job_ == 0 ? find_job(deadline) : Status::ok;
    if (status == Status::ok) {
      status = write(name_of(rank_), std::as_bytes(std::span(&job_, 1)), mine);
    }
    everybodys->resize(size_);
    for (unsigned rank = 0; rank < size_ && status == Status::ok; rank++) {
      status = wait_for(name_of(rank), deadline, &(*everybodys)[rank]);
    }
    if (status == Status::ok) round_++;
    return status;
  }

 private:
  std::string name_of(unsigned rank) const {
    return folder_ + "/" + std::to_string(round_) + "." + std::to_string(rank);
  }
  std::string hello_of(unsigned rank) const { return folder_ + "/hello." + std::to_string(rank); }

  // Says hello until all say the same.
  Status find_job(Deadline deadline) {
    std::vector<Hello> hellos(size_);
    for (std::uint64_t said = 0;;) {
      for (unsigned rank = 0; rank < size_; rank++) {
        std::vector<std::byte> rest;
        if (rank != rank_) {
          read(hello_of(rank), std::as_writable_bytes(std::span(&hellos[rank], 1)), &rest);
        }
      }
      Hello& own = hellos[rank_];
      own.number = number_;
      own.digest = digest_of(hellos);
      if (std::exchange(said, own.digest) != own.digest) {
        const Status written = write(hello_of(rank_), std::as_bytes(std::span(&own, 1)), {});
        if (written != Status::ok) return written;
      }
      const auto is_same = [&](const Hello& each) { return each.digest == own.digest; };
      if (std::ranges::all_of(hellos, is_same)) {
        job_ = own.digest;
        return Status::ok;
      }
      if (Clock::now() >= deadline) return Status::timed_out;
      std::this_thread::sleep_for(look_again);
    }
  }

  // For this job's file of that name.
  Status wait_for(const std::string& name, Deadline deadline, std::vector<std::byte>* bytes) const {
    for (;;) {
      std::uint64_t job = 0;
      if (read(name, std::as_writable_bytes(std::span(&job, 1)), bytes) && job == job_) {
        return bytes->size() <= exchange_bytes_max ? Status::ok : Status::failed;
      }
      if (Clock::now() >= deadline) return Status::timed_out;
      std::this_thread::sleep_for(look_again);
    }
  }

  const std::string folder_;
  const std::uint64_t number_ = Secrets().next();
  std::uint64_t job_ = 0;  // 0: not found yet
  unsigned round_ = 0;
};

}  // namespace

std::unique_ptr<Rendezvous> meet_by_files(const std::string& folder, unsigned rank, unsigned size,
                                          std::string* error) {
  if (access(folder.c_str(), R_OK | W_OK | X_OK) != 0) {
    *error = "IW_RENDEZVOUS: the folder " + folder + ": " + std::strerror(errno);
    return nullptr;
  }
  JobKey key;
  if (!read_key_of_environment(&key, error)) return nullptr;
  if (!key.is_secret()) {
    if (!share_key_by_folder(folder, &key, error)) {
      *error = "IW_RENDEZVOUS: " + *error;
      return nullptr;
    }
    remember_job_key(key);
  }
  return std::make_unique<Files>(folder, rank, size);
}

}  // namespace iw::fabric
