// Rank 0 listens at a known place; the others connect and stay connected. A round: each sends its
// piece, rank 0 sends all of them to each.
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
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

// Each of the others says its rank first. Whoever says nothing, or something else, is none of them
// and holds up nobody: all are listened to at once, and when there are too many the one that has
// been silent for longest goes. While this process has no descriptor for another, those go who have
// been silent for two seconds.
class Entrance {
 public:
  Entrance(int listener, unsigned size) : listener_(listener), others_(size, -1) {}
  ~Entrance() {
    for (const Caller& each : callers_) close(each.fd);
    for (const int fd : others_) {
      if (fd >= 0) close(fd);
    }
  }

  Status let_in(Deadline deadline, std::vector<int>* others) {
    while (there_ + 1 < others_.size()) {
      const Status status = wait_for_any(deadline);
      if (status != Status::ok) return status;
    }
    others->swap(others_);
    return Status::ok;
  }
  // No descriptor was free for the last who came.
  bool lacks_descriptors() const { return lacks_descriptors_; }

 private:
  struct Caller {
    int fd;
    Deadline speaks_until;
    std::array<std::byte, sizeof(std::uint32_t)> said{};
    std::size_t said_bytes = 0;
  };
  static constexpr std::size_t callers_max = 512;
  static constexpr std::chrono::seconds patience{2};

  // A descriptor that is free again makes nobody ready, so it is looked for now and then.
  Status wait_for_any(Deadline deadline) {
    std::vector<pollfd> polled{{lacks_descriptors_ ? -1 : listener_, POLLIN, 0}};
    for (const Caller& each : callers_) polled.push_back({each.fd, POLLIN, 0});
    const Deadline until =
        lacks_descriptors_ ? std::min(deadline, Clock::now() + try_again) : deadline;
    const Status waited = fabric::wait_for_any(polled, until);
    const bool is_over = waited != Status::timed_out || until == deadline;
    if (waited != Status::ok && is_over) return waited;
    for (std::size_t i = callers_.size(); i > 0; i--) {
      if (polled[i].revents != 0 && !hear(&callers_[i - 1])) {
        callers_.erase(callers_.begin() + static_cast<std::ptrdiff_t>(i - 1));
      }
    }
    if (lacks_descriptors_) put_out_the_silent();
    if (lacks_descriptors_ || polled[0].revents != 0) accept_one();
    return Status::ok;
  }

  void accept_one() {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    lacks_descriptors_ = fd < 0 && (errno == EMFILE || errno == ENFILE);
    if (fd < 0) return;
    if (callers_.size() >= callers_max) put_out_the_first();
    callers_.push_back({fd, Clock::now() + patience});
  }

  void put_out_the_silent() {
    while (!callers_.empty() && callers_.front().speaks_until <= Clock::now()) put_out_the_first();
  }

  void put_out_the_first() {
    close(callers_.front().fd);
    callers_.erase(callers_.begin());
  }

  // False: it is let in, or gone.
  bool hear(Caller* caller) {
    const auto rest = std::span(caller->said).subspan(caller->said_bytes);
    const ssize_t count = recv(caller->fd, rest.data(), rest.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (count > 0) caller->said_bytes += static_cast<std::size_t>(count);
    if (count > 0 && caller->said_bytes < caller->said.size()) return true;
    std::uint32_t rank = 0;
    if (count > 0) std::memcpy(&rank, caller->said.data(), sizeof rank);
    if (rank == 0 || rank >= others_.size() || others_[rank] >= 0) {
      close(caller->fd);
    } else {
      others_[rank] = caller->fd;
      there_++;
    }
    return false;
  }

  const int listener_;
  std::vector<int> others_;  // by rank
  std::size_t there_ = 0;
  std::vector<Caller> callers_;  // in the order of their coming
  bool lacks_descriptors_ = false;
};

std::string what_to_do_about_descriptors(unsigned size) {
  return "rank 0 has no descriptor left for another; it keeps one for each of the job's " +
         std::to_string(size) + ": raise its limit (ulimit -n)";
}

// *why: what a status cannot say.
Status listen_for_others(const sockaddr_in& at, unsigned size, Deadline deadline,
                         std::vector<int>* others, std::string* why) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  Status status = Status::failed;
  if (bind(listener, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 &&
      listen(listener, 1024) == 0) {
    Entrance entrance(listener, size);
    status = entrance.let_in(deadline, others);
    if (entrance.lacks_descriptors()) *why = what_to_do_about_descriptors(size);
  } else {
    *why = std::strerror(errno);
  }
  if (listener >= 0) close(listener);
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
    *error = "IW_RENDEZVOUS=tcp:HOST:PORT: " + place + " is not HOST:PORT of this network";
    return nullptr;
  }
  std::vector<int> others;
  std::string why;
  const Status status = rank == 0 ? listen_for_others(at, size, deadline, &others, &why)
                                  : go_to_first(at, rank, deadline, &others);
  auto met = std::make_unique<Tcp>(rank, size, std::move(others));
  if (status == Status::ok) return met;
  if (why.empty()) why = to_string(status);
  *error = "the processes of this job did not meet at " + place + ": " + why;
  return nullptr;
}

}  // namespace iw::fabric
