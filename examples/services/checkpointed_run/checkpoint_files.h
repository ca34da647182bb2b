// Checkpoints as files: a folder for each, FOLDER/step-STEP-of-PARTS, with a file for each part. A
// file appears whole or not at all (written under another name, flushed, renamed); a checkpoint is
// whole if all of its parts are there and sound.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "checkpointed_run/heat.h"

namespace checkpointed_run {

struct Checkpoint {
  std::uint64_t step, parts;
  std::filesystem::path folder_in(const std::filesystem::path& folder) const;
};

// The newest first; at most 64, and none beyond steps_max.
std::vector<Checkpoint> checkpoints_in(const std::filesystem::path& folder,
                                       std::uint64_t steps_max);

// All but the newest so many; those with missing parts count.
void remove_old(const std::filesystem::path& folder, std::size_t kept);

// A folder belongs to one run: to its coordinator and all its processes, which inherit this, until
// the last of them has ended.
class FolderLock {
 public:
  // Makes the folder if it does not exist, or throws services::Failure. Nothing is held yet.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  bool attempt() const;
  // Until the other run has ended, or a signal came.
  bool wait() const;

 private:
  int fd_;
};

class CheckpointFiles {
 public:
  CheckpointFiles(const std::filesystem::path& folder, const Checkpoint& checkpoint,
                  std::uint64_t cells)
      : path_(checkpoint.folder_in(folder)), checkpoint_(checkpoint), cells_(cells) {}
  // These throw services::Failure.
  void write(std::uint64_t part, std::span<const double> values) const;
  // Once for all parts that were written: a power failure leaves them all from here on.
  void flush_names() const;
  std::vector<double> read(Range range) const;
  // Throws only if the checkpoint is of a rod with another number of cells.
  bool is_whole(std::uint64_t part) const;

 private:
  struct Header;
  Header header_of(std::uint64_t part, std::span<const double> values) const;
  std::filesystem::path file_of(std::uint64_t part) const;
  bool read_part(std::uint64_t part, std::vector<double>* values) const;

  const std::filesystem::path path_;
  const Checkpoint checkpoint_;
  const std::uint64_t cells_;
};

}  // namespace checkpointed_run
