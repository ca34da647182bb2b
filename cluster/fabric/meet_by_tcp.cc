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
#include <cstdio>
#include <cstring>
#include <thread>

#include "fabric/hello_messages.h"
#include "fabric/job_key.h"
#include "fabric/rendezvous_means.h"
#include "fabric/strangers.h"
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

// Each of the others says a MeetingQuestion first, and then proves the job key
// (spec/cluster/hello.x). A caller that says nothing, or something else, is a stranger. Strangers
// delay no process, because all callers are heard at once. When there are too many, the entrance
// closes the caller that has been silent for longest. While this process has no descriptor for
// another caller, the entrance closes callers that have been silent for two seconds.
class Entrance {
 public:
  Entrance(int listener, const JobKey& key, unsigned size)
      : listener_(listener), key_(key), others_(size, -1) {}
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
    MeetingQuestion question{};
    Nonce of_asked{};
    Proof proof{};
    bool is_challenged = false;
    std::size_t heard_bytes = 0;  // of the question, then of the proof

    std::span<std::byte> unheard() {
      const auto all = is_challenged ? std::span<std::byte>(proof)
                                     : std::as_writable_bytes(std::span(&question, 1));
      return all.subspan(heard_bytes);
    }
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
    const auto rest = caller->unheard();
    const ssize_t count = recv(caller->fd, rest.data(), rest.size(), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    bool stays = count > 0;
    if (stays) {
      caller->heard_bytes += static_cast<std::size_t>(count);
      const bool is_all = static_cast<std::size_t>(count) == rest.size();
      if (!is_all && !is_foreign(*caller)) return true;
      if (caller->is_challenged) return let_in(*caller);
      stays = answer(caller);
    }
    if (!stays) close(caller->fd);
    return stays;
  }

  // A question with another head may have another length.
  static bool is_foreign(const Caller& caller) {
    return !caller.is_challenged && caller.heard_bytes >= sizeof(HelloHead) &&
           !is_ours(caller.question.head);
  }

  // False: the caller has to go.
  bool answer(Caller* caller) {
    const MeetingQuestion& question = caller->question;
    if (!is_ours(question.head)) {
      const bool is_hello = question.head.magic == hello_magic;
      strangers_.refuse("where the job meets", why_foreign(question.head));
      Challenge other_version;
      other_version.status = ChallengeStatus::other_version;
      if (is_hello) say(caller->fd, bytes_of_message(other_version));
      return false;
    }
    if (!is_awaited(question)) return false;
    const Challenge made = challenge(key_, first_label, bytes_of_message(question));
    caller->of_asked = made.of_asked;
    caller->is_challenged = true;
    caller->heard_bytes = 0;
    return say(caller->fd, bytes_of_message(made));
  }

  // False, because it is let in or closed.
  bool let_in(const Caller& caller) {
    const MeetingQuestion& question = caller.question;
    const auto parts = {bytes_of_message(question), bytes_of_message(caller.of_asked)};
    const bool is_proven = key_.is_proven(caller.proof, other_label, parts);
    if (!is_proven) {
      strangers_.refuse("where the job meets",
                        std::string("it has not proven this job's key; ") + how_to_set_a_key);
    }
    if (!is_proven || !is_awaited(question)) {
      close(caller.fd);
    } else {
      others_[question.rank] = caller.fd;
      there_++;
    }
    return false;
  }

  bool is_awaited(const MeetingQuestion& question) const {
    return question.rank != 0 && question.rank < others_.size() && others_[question.rank] < 0 &&
           question.size == others_.size();
  }

  // All of it, at once: it is smaller than a socket's buffer.
  static bool say(int fd, Bytes bytes) {
    return send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }

  const int listener_;
  const JobKey& key_;
  Strangers strangers_;
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
Status listen_for_others(const sockaddr_in& at, const JobKey& key, unsigned size, Deadline deadline,
                         std::vector<int>* others, std::string* why) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  Status status = Status::failed;
  if (bind(listener, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 &&
      listen(listener, 1024) == 0) {
    Entrance entrance(listener, key, size);
    status = entrance.let_in(deadline, others);
    if (entrance.lacks_descriptors()) *why = what_to_do_about_descriptors(size);
  } else {
    *why = std::strerror(errno);
  }
  if (listener >= 0) close(listener);
  return status;
}

// The side that asks. refused: rank 0 has not proven the job key, and *why says more.
Status prove_each_other(int fd, const JobKey& key, const MeetingQuestion& question,
                        Deadline deadline, std::string* why) {
  const Bytes asked = bytes_of_message(question);
  Challenge answer;
  const auto answered = std::as_writable_bytes(std::span(&answer, 1));
  Status status = send_all(fd, asked, deadline);
  if (status == Status::ok) status = receive_all(fd, answered, deadline);
  if (status != Status::ok) return status;
  *why = why_not_proven(key, first_label, asked, answer);
  // Also to a rank 0 that has another key, so that its log tells of this process.
  const Proof proof = key.prove(other_label, {asked, bytes_of_message(answer.of_asked)});
  if (is_ours(answer.head)) status = send_all(fd, proof, deadline);
  if (why->empty()) return status;
  *why = "rank 0 was refused: " + *why + "; " + how_to_set_a_key;
  return Status::refused;
}

// Rank 0 may not be there yet.
Status go_to_first(const sockaddr_in& at, const JobKey& key, MeetingQuestion question,
                   Deadline deadline, std::vector<int>* others, std::string* why) {
  for (;;) {
    int fd = -1;
    Status status = connect_to(at.sin_addr.s_addr, at.sin_port, deadline, &fd);
    question.of_asking = draw_nonce();
    if (status == Status::ok) status = prove_each_other(fd, key, question, deadline, why);
    others->assign(1, fd);
    if (status != Status::peer_dead) return status;
    close(fd);
    others->assign(1, -1);
    if (Clock::now() >= deadline) return Status::timed_out;
    std::this_thread::sleep_for(try_again);
  }
}

// False, and why: without a key the processes meet on this machine only.
bool may_meet(const sockaddr_in& at, const JobKey& key, const std::string& place, unsigned rank,
              std::string* error) {
  if (key.is_secret()) return true;
  if (ntohl(at.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET) {
    *error = "IW_RENDEZVOUS=tcp:" + place +
             ": without a job key processes meet at a loopback address only; " + how_to_set_a_key;
    return false;
  }
  if (rank == 0) {
    std::fprintf(stderr,
                 "interweave: the processes of this job meet at %s without a job key; any user of "
                 "this machine may take part\n",
                 place.c_str());
  }
  return true;
}

}  // namespace

std::unique_ptr<Rendezvous> meet_by_tcp(const std::string& place, unsigned rank, unsigned size,
                                        Deadline deadline, std::string* error) {
  sockaddr_in at{};
  if (!find_place(place, &at)) {
    *error = "IW_RENDEZVOUS=tcp:HOST:PORT: " + place + " is not HOST:PORT of this network";
    return nullptr;
  }
  JobKey key;
  if (!read_key_of_environment(&key, error)) return nullptr;
  if (!may_meet(at, key, place, rank, error)) return nullptr;
  MeetingQuestion question;
  question.rank = rank;
  question.size = size;
  std::vector<int> others;
  std::string why;
  const Status status = rank == 0 ? listen_for_others(at, key, size, deadline, &others, &why)
                                  : go_to_first(at, key, question, deadline, &others, &why);
  auto met = std::make_unique<Tcp>(rank, size, std::move(others));
  if (status == Status::ok) return met;
  if (why.empty()) why = to_string(status);
  *error = "the processes of this job did not meet at " + place + ": " + why;
  return nullptr;
}

}  // namespace iw::fabric
