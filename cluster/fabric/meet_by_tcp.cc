// Rank 0 listens at a known place; the others connect and stay connected. A round: each sends its
// piece, rank 0 sends all of them to each.
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "fabric/rendezvous_means.h"
#include "fabric/stream.h"

namespace iw::fabric {
namespace {

constexpr std::chrono::milliseconds try_again{10};

class Tcp final : public Rendezvous {
 public:
  Tcp(unsigned rank, unsigned size, std::vector<int> others) : others_(std::move(others)) {
    rank_ = rank;
    size_ = size;
  }
  ~Tcp() override {
    for (const int fd : others_) {
      if (fd >= 0) close(fd);
    }
  }

  Status exchange(Bytes mine, Deadline deadline,
                  std::vector<std::vector<std::byte>>* everybodys) override {
    if (mine.size() > exchange_bytes_max) return Status::bad_argument;
    everybodys->assign(size_, {});
    (*everybodys)[rank_].assign(mine.begin(), mine.end());
    return rank_ == 0 ? collect_and_give(deadline, everybodys) : give_and_get(deadline, everybodys);
  }

 private:
  Status collect_and_give(Deadline deadline, std::vector<std::vector<std::byte>>* everybodys) {
    Status status = Status::ok;
    for (unsigned rank = 1; rank < size_ && status == Status::ok; rank++) {
      status = receive_piece(others_[rank], exchange_bytes_max, &(*everybodys)[rank], deadline);
    }
    for (unsigned rank = 1; rank < size_; rank++) {
      for (const auto& piece : *everybodys) {
        if (status == Status::ok) status = send_piece(others_[rank], piece, deadline);
      }
    }
    return status;
  }

  Status give_and_get(Deadline deadline, std::vector<std::vector<std::byte>>* everybodys) {
    Status status = send_piece(others_[0], (*everybodys)[rank_], deadline);
    for (auto& piece : *everybodys) {
      if (status == Status::ok) {
        status = receive_piece(others_[0], exchange_bytes_max, &piece, deadline);
      }
    }
    return status;
  }

  std::vector<int> others_;  // by rank; of those that are not rank 0 only [0] is used
};

bool find_place(const std::string& place, sockaddr_in* found) {
  const auto colon = place.rfind(':');
  if (colon == std::string::npos) return false;
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const std::string host = place.substr(0, colon), port = place.substr(colon + 1);
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &list) != 0) return false;
  *found = *reinterpret_cast<const sockaddr_in*>(list->ai_addr);
  freeaddrinfo(list);
  return true;
}

// Each of the others says its rank first.
Status let_in(int listener, unsigned size, Deadline deadline, std::vector<int>* others) {
  others->assign(size, -1);
  for (unsigned there = 1; there < size;) {
    const Status waited = wait_for(listener, POLLIN, deadline);
    if (waited != Status::ok) return waited;
    const int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) continue;
    std::uint32_t rank = 0;
    const Status said = receive_all(fd, std::as_writable_bytes(std::span(&rank, 1)), deadline);
    if (said != Status::ok || rank == 0 || rank >= size || (*others)[rank] >= 0) {
      close(fd);
      continue;
    }
    (*others)[rank] = fd;
    there++;
  }
  return Status::ok;
}

Status listen_for_others(const sockaddr_in& at, unsigned size, Deadline deadline,
                         std::vector<int>* others) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  Status status = Status::failed;
  if (bind(listener, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 &&
      listen(listener, 1024) == 0) {
    status = let_in(listener, size, deadline, others);
  }
  close(listener);
  return status;
}

// Rank 0 may not be there yet.
Status go_to_first(const sockaddr_in& at, unsigned rank, Deadline deadline,
                   std::vector<int>* others) {
  for (;;) {
    int fd = -1;
    Status status = connect_to(at.sin_addr.s_addr, at.sin_port, deadline, &fd);
    const std::uint32_t said = rank;
    if (status == Status::ok) status = send_all(fd, std::as_bytes(std::span(&said, 1)), deadline);
    others->assign(1, fd);
    if (status != Status::peer_dead) return status;
    close(fd);
    others->assign(1, -1);
    if (Clock::now() >= deadline) return Status::timed_out;
    std::this_thread::sleep_for(try_again);
  }
}

}  // namespace

std::unique_ptr<Rendezvous> meet_by_tcp(const std::string& place, unsigned rank, unsigned size,
                                        Deadline deadline, std::string* error) {
  sockaddr_in at{};
  if (!find_place(place, &at)) {
    *error = "IW_RENDEZVOUS=tcp:HOST:PORT: " + place + " is no such place";
    return nullptr;
  }
  std::vector<int> others;
  const Status status = rank == 0 ? listen_for_others(at, size, deadline, &others)
                                  : go_to_first(at, rank, deadline, &others);
  auto met = std::make_unique<Tcp>(rank, size, std::move(others));
  if (status == Status::ok) return met;
  *error = "the processes of this job did not meet at " + place + ": " + to_string(status);
  return nullptr;
}

}  // namespace iw::fabric
