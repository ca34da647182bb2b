#include "fabric/door.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "fabric/own_addresses.h"
#include "fabric/stream.h"

namespace iw::fabric {
namespace {

constexpr std::size_t strangers_max = 64;

ProcessName name_in(const DoorQuestion& question) {
  ProcessName name;
  name.computer = question.asking_computer;
  name.computer.back() = '\0';
  name.host = question.asking_host;
  name.nonce = question.asking_process;
  name.pid = question.asking_pid;
  return name;
}

// All of it, at once: the answers are smaller than a socket's buffer.
bool say(int fd, Bytes bytes) {
  return send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

bool is_loopback(std::uint32_t ip4) { return ntohl(ip4) >> 24 == IN_LOOPBACKNET; }

void keep_alive(int fd) {
  const int on = 1, idle_s = 5, interval_s = 2, probes = 5;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

}  // namespace

Door::Door(const ProcessName& me, const JobKey& key, Strangers& strangers, bool this_machine_only,
           Callbacks callbacks, std::chrono::milliseconds patience)
    : me_(me),
      key_(key),
      refusals_(strangers),
      callbacks_(std::move(callbacks)),
      patience_(patience) {
  this_machine_only = this_machine_only || !key.is_secret();
  place_.ip4 = this_machine_only ? htonl(INADDR_LOOPBACK) : own_ip4s().front();
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(this_machine_only ? INADDR_LOOPBACK : INADDR_ANY);
  socklen_t length = sizeof at;
  if (epoll_ < 0 || fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&at), length) != 0 ||
      listen(fd, 1024) != 0 || getsockname(fd, reinterpret_cast<sockaddr*>(&at), &length) != 0 ||
      !watch_fd(fd)) {
    if (fd >= 0) close(fd);
    return;
  }
  place_.port = at.sin_port;
  listener_ = fd;
}

Door::~Door() {
  for (const auto& [fd, visitor] : visitors_) close(fd);
  if (listener_ >= 0) close(listener_);
  if (epoll_ >= 0) close(epoll_);
}

bool Door::watch_fd(int fd) const {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  return epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0;
}

void Door::watch_listener(bool is_watched) const {
  epoll_event event{};
  if (is_watched) event.events = EPOLLIN;
  event.data.fd = listener_;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, listener_, &event);
}

bool Door::wants_lifeline(const ProcessName& process) {
  const platform::MutexLock held(mutex_);
  return std::none_of(visitors_.begin(), visitors_.end(), [&](const auto& each) {
    return each.second.is_lifeline && each.second.name == process;
  });
}

void Door::watch(int fd, Visitor visitor) {
  const platform::MutexLock held(mutex_);
  visitors_.insert_or_assign(fd, std::move(visitor));
  watch_fd(fd);
}

// "": it may be asked.
std::string Door::why_unreachable(const AddressParts& whom) const {
  const bool is_here = whom.process.host == me_.host;
  if (is_here || (key_.is_secret() && !is_loopback(whom.place.ip4))) return "";
  const std::string computer = whom.process.computer.data();
  const std::string why = key_.is_secret() ? "can be reached there only, as without a job key: "
                                           : "this process has no job key: ";
  return "it is on " + computer + ", and " + why + how_to_set_a_key;
}

Status Door::ask(const AddressParts& whom, std::uint32_t asking_worker, Deadline deadline,
                 Admission* admission) {
  if (const std::string why = why_unreachable(whom); !why.empty()) {
    refusals_.refuse("on another machine", why);
    return Status::refused;
  }
  DoorQuestion question;
  question.asked_process = whom.process.nonce;
  question.asking_process = me_.nonce;
  question.asking_host = me_.host;
  question.asking_pid = me_.pid;
  question.asking_worker = asking_worker;
  question.worker = whom.worker;
  question.asking_computer = me_.computer;
  question.is_lifeline = wants_lifeline(whom.process) && !(whom.process == me_) ? 1 : 0;
  int fd = -1;
  Status status = ask_once(whom, question, deadline, admission, &fd);
  // A door that lives hangs up on the slow [HELLO-10]. A second connection is refused at once where
  // nobody listens any more.
  if (status == Status::peer_dead) status = ask_once(whom, question, deadline, admission, &fd);
  if (status != Status::ok) return status;
  const bool has_worker = !admission->transport_address.empty();
  if (has_worker && question.is_lifeline != 0) {
    keep_alive(fd);
    watch(fd, Visitor{.name = whom.process, .is_lifeline = true});
  } else {
    close(fd);
  }
  return has_worker ? Status::ok : Status::peer_dead;
}

// On a connection of its own: *fd, which is open if the result is ok. peer_dead: nobody listens, or
// the door has hung up.
Status Door::ask_once(const AddressParts& whom, DoorQuestion question, Deadline deadline,
                      Admission* admission, int* fd) {
  question.of_asking = draw_nonce();
  const bool is_here = whom.process.host == me_.host;
  Status status =
      connect_to(is_here ? htonl(INADDR_LOOPBACK) : whom.place.ip4, whom.place.port, deadline, fd);
  if (status == Status::ok) status = prove_each_other(*fd, question, deadline, &admission->pass);
  if (status == Status::ok) {
    status =
        receive_piece(*fd, transport_address_bytes_max, &admission->transport_address, deadline);
  }
  if (status != Status::ok && *fd >= 0) close(*fd);
  return status;
}

// The side that asks.
Status Door::prove_each_other(int fd, const DoorQuestion& question, Deadline deadline, Pass* pass) {
  const Bytes asked = bytes_of_message(question);
  Challenge answer;
  const auto answered = std::as_writable_bytes(std::span(&answer, 1));
  Status status = send_all(fd, asked, deadline);
  if (status == Status::ok) status = receive_all(fd, answered, deadline);
  if (status != Status::ok) return status;
  const std::string why = why_not_proven(key_, door_label, asked, answer);
  // Also to a door that has another key, so that its log tells of this process.
  const Proof proof = key_.prove(caller_label, {asked, bytes_of_message(answer.of_asked)});
  if (is_ours(answer.head)) status = send_all(fd, proof, deadline);
  *pass = {question.of_asking, answer.of_asked};
  if (why.empty()) return status;
  refusals_.refuse("at its door", why);
  return Status::refused;
}

void Door::handle() {
  constexpr int events_max = 32;
  epoll_event events[events_max];
  const int count = epoll_wait(epoll_, events, events_max, 0);
  for (int i = 0; i < count; i++) {
    if (events[i].data.fd == listener_) {
      accept_all();
    } else {
      read(events[i].data.fd);
    }
  }
  // Not while somebody may have spoken who is not heard yet: this process may have been stopped.
  if (count < events_max) put_out_the_late();
  if (is_shut_) listen_again();
}

// A listener that cannot let anybody in would be ready all the time, so it is not watched then.
void Door::accept_all() {
  for (;;) {
    {
      const platform::MutexLock held(mutex_);
      is_shut_ = strangers_ >= strangers_max;
    }
    if (is_shut_) return watch_listener(false);
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      is_shut_ = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (is_shut_) watch_listener(false);
      return;
    }
    {
      const platform::MutexLock held(mutex_);
      strangers_++;
    }
    watch(fd, Visitor{.speaks_until = Clock::now() + patience_});
  }
}

// handle() is called now and then, so a lack of descriptors that goes away is noticed.
void Door::listen_again() {
  {
    const platform::MutexLock held(mutex_);
    if (strangers_ >= strangers_max) return;
  }
  watch_listener(true);
  accept_all();
}

// [HELLO-10]
void Door::put_out_the_late() {
  std::vector<int> late;
  {
    const platform::MutexLock held(mutex_);
    if (strangers_ == 0) return;
    const auto now = Clock::now();
    for (const auto& [fd, visitor] : visitors_) {
      if (!visitor.is_lifeline && visitor.speaks_until <= now) late.push_back(fd);
    }
  }
  for (const int fd : late) hang_up(fd);
}

void Door::read(int fd) {
  Visitor* visitor;
  {
    const platform::MutexLock held(mutex_);
    const auto found = visitors_.find(fd);
    if (found == visitors_.end()) return;
    visitor = &found->second;  // only this thread removes visitors
  }
  if (visitor->is_lifeline) {  // nothing is ever said on it
    std::byte end;
    const ssize_t count = recv(fd, &end, 1, 0);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) hang_up(fd);
    return;
  }
  const std::size_t wanted = visitor->is_challenged ? sizeof(Proof) : sizeof(DoorQuestion);
  std::byte buffer[sizeof(DoorQuestion)];
  const ssize_t count = recv(fd, buffer, wanted - visitor->received.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return hang_up(fd);
  visitor->received.insert(visitor->received.end(), buffer, buffer + count);
  if (!hear(fd, *visitor)) hang_up(fd);
}

// False: the visitor has to go.
bool Door::hear(int fd, Visitor& visitor) {
  if (visitor.is_challenged) {
    return visitor.received.size() < sizeof(Proof) || answer_proof(fd, visitor);
  }
  HelloHead head;
  if (visitor.received.size() < sizeof head) return true;
  std::memcpy(&head, visitor.received.data(), sizeof head);
  if (is_ours(head)) {
    return visitor.received.size() < sizeof(DoorQuestion) || answer_question(fd, visitor);
  }
  if (head.magic != hello_magic) {
    refusals_.refuse("at the door", why_foreign(head));
    return false;
  }
  Challenge other_version;
  other_version.status = ChallengeStatus::other_version;
  // First, so that the refusal is counted when the stranger hears of it.
  refusals_.refuse("at the door", why_foreign(head));
  say(fd, bytes_of_message(other_version));
  return false;
}

bool Door::answer_question(int fd, Visitor& visitor) {
  std::memcpy(&visitor.question, visitor.received.data(), sizeof visitor.question);
  if (visitor.question.asked_process != me_.nonce) return false;
  const Challenge made = challenge(key_, door_label, bytes_of_message(visitor.question));
  visitor.received = {};
  visitor.of_asked = made.of_asked;
  visitor.is_challenged = true;
  visitor.speaks_until = Clock::now() + patience_;
  return say(fd, bytes_of_message(made));
}

bool Door::answer_proof(int fd, Visitor& visitor) {
  Proof proof;
  std::memcpy(proof.data(), visitor.received.data(), sizeof proof);
  const auto parts = {bytes_of_message(visitor.question), bytes_of_message(visitor.of_asked)};
  if (key_.is_proven(proof, caller_label, parts)) return admit(fd, visitor);
  refusals_.refuse("at the door",
                   std::string("it has not proven this job's key; ") + how_to_set_a_key);
  return false;
}

bool Door::admit(int fd, Visitor& visitor) {
  const DoorQuestion& question = visitor.question;
  const Caller caller{
      name_in(question), question.asking_worker, {question.of_asking, visitor.of_asked}};
  const std::vector<std::byte> address = callbacks_.admit(question.worker, caller);
  const auto length = static_cast<std::uint32_t>(address.size());
  std::vector<std::byte> text(sizeof length + length);
  std::memcpy(text.data(), &length, sizeof length);
  std::copy(address.begin(), address.end(), text.begin() + sizeof length);
  if (!say(fd, text) || question.is_lifeline == 0 || address.empty()) return false;
  keep_alive(fd);
  const platform::MutexLock held(mutex_);
  visitor.received = {};
  visitor.name = caller.process;
  visitor.is_lifeline = true;
  strangers_--;
  return true;
}

void Door::hang_up(int fd) {
  Visitor visitor;
  {
    const platform::MutexLock held(mutex_);
    const auto found = visitors_.find(fd);
    visitor = std::move(found->second);
    visitors_.erase(found);
    if (!visitor.is_lifeline) strangers_--;
  }
  close(fd);
  if (visitor.is_lifeline) callbacks_.died(visitor.name);
}

}  // namespace iw::fabric
