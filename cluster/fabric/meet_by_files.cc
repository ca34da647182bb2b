// Each process writes a file a round into a folder that all see, under a name that says round and
// rank, complete from the moment that it is there.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <thread>

#include "fabric/rendezvous_means.h"

namespace iw::fabric {
namespace {

constexpr std::chrono::milliseconds look_again{1};

class Files final : public Rendezvous {
 public:
  Files(std::string folder, unsigned rank, unsigned size) : folder_(std::move(folder)) {
    rank_ = rank;
    size_ = size;
  }

  Status exchange(Bytes mine, Deadline deadline,
                  std::vector<std::vector<std::byte>>* everybodys) override {
    if (mine.size() > exchange_bytes_max) return Status::bad_argument;
    const std::string name = name_of(rank_), unfinished = name + ".new";
    {
      std::ofstream file(unfinished, std::ios::binary);
      file.write(reinterpret_cast<const char*>(mine.data()),
                 static_cast<std::streamsize>(mine.size()));
      if (!file.flush()) return Status::failed;
    }
    if (std::rename(unfinished.c_str(), name.c_str()) != 0) return Status::failed;
    everybodys->resize(size_);
    for (unsigned rank = 0; rank < size_; rank++) {
      const Status status = read(name_of(rank), deadline, &(*everybodys)[rank]);
      if (status != Status::ok) return status;
    }
    round_++;
    return Status::ok;
  }

 private:
  std::string name_of(unsigned rank) const {
    return folder_ + "/" + std::to_string(round_) + "." + std::to_string(rank);
  }

  static Status read(const std::string& name, Deadline deadline, std::vector<std::byte>* bytes) {
    for (;;) {
      std::ifstream file(name, std::ios::binary);
      if (file) {
        const std::string text(std::istreambuf_iterator<char>(file), {});
        if (text.size() > exchange_bytes_max) return Status::failed;
        const auto view = std::as_bytes(std::span(text));
        bytes->assign(view.begin(), view.end());
        return Status::ok;
      }
      if (Clock::now() >= deadline) return Status::timed_out;
      std::this_thread::sleep_for(look_again);
    }
  }

  const std::string folder_;
  unsigned round_ = 0;
};

}  // namespace

std::unique_ptr<Rendezvous> meet_by_files(const std::string& folder, unsigned rank, unsigned size) {
  return std::make_unique<Files>(folder, rank, size);
}

}  // namespace iw::fabric
