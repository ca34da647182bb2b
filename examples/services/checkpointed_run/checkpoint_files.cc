#include "checkpointed_run/checkpoint_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "space/space.h"

namespace checkpointed_run {
namespace {

namespace fs = std::filesystem;
using services::Failure;

constexpr std::size_t checkpoints_max = 64;
constexpr std::uint64_t magic = 0x31746e696f706b63;  // "ckpoint1"

[[noreturn]] void fail(const fs::path& path) {
  throw Failure(path.string() + ": " + std::strerror(errno) +
                "; --folder must be writable and have room");
}

// FNV-1a over the values' bytes.
std::uint64_t checksum_of(std::span<const double> values) {
  std::uint64_t sum = 0xcbf29ce484222325u;
  for (const std::byte byte : std::as_bytes(values)) {
    sum = (sum ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3u;
  }
  return sum;
}

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

// A name in a folder is kept only when the folder is flushed.
void flush_folder(const fs::path& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail(folder);
  const int result = fsync(fd);
  close(fd);
  if (result != 0) fail(folder);
}

}  // namespace

struct CheckpointFiles::Header {
  std::uint64_t magic, step, parts, part, cells, checksum;
  bool operator==(const Header&) const = default;
};

fs::path Checkpoint::folder_in(const fs::path& folder) const {
  return folder / ("step-" + std::to_string(step) + "-of-" + std::to_string(parts));
}

std::vector<Checkpoint> checkpoints_in(const fs::path& folder, std::uint64_t steps_max) {
  std::vector<Checkpoint> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    unsigned long long step = 0, parts = 0;
    const std::string name = entry.path().filename();
    if (std::sscanf(name.c_str(), "step-%llu-of-%llu", &step, &parts) != 2) continue;
    if (step <= steps_max && parts > 0) found.push_back({step, parts});
  }
  std::sort(found.begin(), found.end(), [](const Checkpoint& one, const Checkpoint& other) {
    return one.step != other.step ? one.step > other.step : one.parts > other.parts;
  });
  found.resize(std::min(found.size(), checkpoints_max));
  return found;
}

void remove_old(const fs::path& folder, std::size_t kept) {
  const auto all = checkpoints_in(folder, UINT64_MAX);
  for (std::size_t i = kept; i < all.size(); i++) {
    std::error_code ignored;  // what stays does no harm
    fs::remove_all(all[i].folder_in(folder), ignored);
  }
}

FolderLock::FolderLock(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  fd_ = open((folder / "lock").c_str(), O_RDWR | O_CREAT, 0666);
  if (fd_ < 0) fail(folder);
}

FolderLock::~FolderLock() { close(fd_); }

bool FolderLock::attempt() const { return flock(fd_, LOCK_EX | LOCK_NB) == 0; }

bool FolderLock::wait() const { return flock(fd_, LOCK_EX) == 0; }

fs::path CheckpointFiles::file_of(std::uint64_t part) const {
  return path_ / ("part-" + std::to_string(part));
}

CheckpointFiles::Header CheckpointFiles::header_of(std::uint64_t part,
                                                   std::span<const double> values) const {
  return {magic, checkpoint_.step, checkpoint_.parts, part, cells_, checksum_of(values)};
}

void CheckpointFiles::write(std::uint64_t part, std::span<const double> values) const {
  std::error_code error;
  fs::create_directories(path_, error);
  const fs::path unfinished = file_of(part).string() + ".unfinished";
  const int fd = open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) fail(unfinished);
  const Header header = header_of(part, values);
  const bool is_written = write_all(fd, std::as_bytes(std::span(&header, 1))) &&
                          write_all(fd, std::as_bytes(values)) && fsync(fd) == 0;
  close(fd);
  if (!is_written) fail(unfinished);
  if (std::rename(unfinished.c_str(), file_of(part).c_str()) != 0) fail(unfinished);
}

void CheckpointFiles::flush_names() const {
  flush_folder(path_);
  flush_folder(path_ / "..");
}

bool CheckpointFiles::read_part(std::uint64_t part, std::vector<double>* values) const {
  std::ifstream file(file_of(part), std::ios::binary);
  Header header{};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return false;
  if (header.magic == magic && header.cells != cells_) {
    throw Failure(path_.string() + " is of a rod of " + std::to_string(header.cells) +
                  " cells: give --cells " + std::to_string(header.cells) + ", or another --folder");
  }
  values->resize(piece(cells_, part, checkpoint_.parts).count);
  const auto nbytes = static_cast<std::streamsize>(values->size() * sizeof(double));
  return file.read(reinterpret_cast<char*>(values->data()), nbytes) &&
         header == header_of(part, *values);
}

bool CheckpointFiles::is_whole(std::uint64_t part) const {
  std::vector<double> values;
  return read_part(part, &values);
}

std::vector<double> CheckpointFiles::read(Range range) const {
  std::vector<double> values(range.count);
  for (std::uint64_t part = 0; part < checkpoint_.parts; part++) {
    const Range has = piece(cells_, part, checkpoint_.parts);
    const std::uint64_t begin = std::max(range.first, has.first);
    const std::uint64_t end = std::min(range.first + range.count, has.first + has.count);
    if (begin >= end) continue;
    std::vector<double> kept;
    if (!read_part(part, &kept)) fail(file_of(part));
    std::copy_n(kept.begin() + static_cast<std::ptrdiff_t>(begin - has.first), end - begin,
                values.begin() + static_cast<std::ptrdiff_t>(begin - range.first));
  }
  return values;
}

}  // namespace checkpointed_run
