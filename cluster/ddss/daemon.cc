#include "ddss/daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <system_error>

namespace iw::ddss {
namespace {

int duplicate(int descriptor) { return fcntl(descriptor, F_DUPFD_CLOEXEC, 0); }

void set_event(int event) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(event, &one, sizeof one);
}

void clear_event(int event) {
  std::uint64_t raised;
  [[maybe_unused]] const ssize_t got = ::read(event, &raised, sizeof raised);
}

template <typename T>
T copy_of(const std::byte* data) {
  T copy;
  std::memcpy(&copy, data, sizeof copy);
  return copy;
}

}  // namespace

Daemon::Daemon(Node& node, const DaemonSocket& socket, std::chrono::microseconds spin)
    : node_(node),
      listener_(socket.fd()),
      spin_(spin),
      stop_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      done_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      spare_fd_(duplicate(stop_fd_)) {}

Daemon::~Daemon() {
  for (Served& each : served_) {
    each.is_over = true;
    wake(each.end->channel().submitted);
  }
  for (Served& each : served_) each.thread.join();
  close(stop_fd_);
  close(done_fd_);
  close(spare_fd_);
}

void Daemon::stop() { set_event(stop_fd_); }

void Daemon::run() {
  for (;;) {
    std::vector<pollfd> all{{stop_fd_, POLLIN, 0}, {done_fd_, POLLIN, 0}, {listener_, POLLIN, 0}};
    for (const Served& each : served_) {
      all.push_back({each.is_over ? -1 : each.end->socket(), POLLIN, 0});
    }
    if (poll(all.data(), all.size(), -1) < 0) continue;
    if (all[0].revents != 0) return;
    if (all[1].revents != 0) clear_event(done_fd_);
    std::size_t i = 3;
    for (Served& each : served_) {
      // A client says nothing on the socket, so it has ended.
      if (all[i++].revents == 0) continue;
      each.is_over = true;
      wake(each.end->channel().submitted);
    }
    reap();
    if (all[2].revents != 0) accept_one();
  }
}

// If the client's memory finds no place as well, ChannelEnd::take tells the client, and closing the
// socket frees its place.
void Daemon::accept_one() {
  close(spare_fd_);
  const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (socket >= 0) admit(socket);
  spare_fd_ = duplicate(stop_fd_);
}

void Daemon::admit(int socket) {
  const timeval patience{1, 0};  // with a client that sends nothing
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  auto end = ChannelEnd::take(socket);
  if (end == nullptr) return;
  Served& served = served_.emplace_back();
  served.end = std::move(end);
  try {
    served.thread = std::thread([this, &served] { serve(served); });
  } catch (const std::system_error&) {  // the system has no more threads
    served.end->refuse();
    served_.pop_back();
  }
}

void Daemon::reap() {
  for (auto each = served_.begin(); each != served_.end();) {
    const auto served = each++;
    if (!served->is_done) continue;
    served->thread.join();
    served_.erase(served);
  }
}

void Daemon::serve(Served& served) {
  Channel& channel = served.end->channel();
  is_unwanted = &served.is_over;
  for (std::uint32_t done = 0; !served.is_over;) {
    if (!await_change(channel.submitted, done, channel.daemon_sleeps, spin_)) continue;
    answer(channel, done++);
    count_up(channel.answered, channel.client_sleeps);
  }
  is_unwanted = nullptr;
  node_.unlock_all();
  served.is_done = true;
  set_event(done_fd_);
}

void Daemon::answer(Channel& channel, std::uint32_t number) {
  Channel::Slot& slot = channel.slot(number);
  const Request request = slot.request;
  if (slot.state == SlotState::given_up) return;
  Answer given;
  if (check(request)) {
    given = call(request, channel.data(number));
  } else {
    given.result = DDSS_EARGUMENT;  // [DDSS-CHANNEL-2]
  }
  slot.answer = given;
  auto asked = SlotState::asked;
  if (!slot.state.compare_exchange_strong(asked, SlotState::answered)) {
    undo(request, channel.data(number), given);
  }
}

// Gives back what a call gained whose caller has given the call up [DDSS-CHANNEL-3].
void Daemon::undo(const Request& request, const std::byte* data, const Answer& answer) {
  if (answer.result != 0) return;
  if (request.call == Call::lock) node_.unlock(request.key);
  const bool is_nameless =
      request.call == Call::allocate && name_of(copy_of<AllocationText>(data).name).empty();
  if (is_nameless) node_.release(answer.key);
}

Answer Daemon::call(const Request& request, std::byte* data) {
  Answer answer;
  switch (request.call) {
    case Call::hello:
      answer.node = hello(data);
      break;
    case Call::nodes:
      answer.result = node_.nodes();
      break;
    case Call::await_nodes:
      answer.result = node_.await_nodes(request.count);
      break;
    case Call::allocate:
      answer.result = allocate(request, data, &answer);
      break;
    case Call::release:
      answer.result = node_.release(request.key);
      break;
    case Call::describe:
      answer.result = describe(request.key, data);
      break;
    case Call::is_onesided:
      answer.result = node_.is_onesided(request.key);
      break;
    case Call::fetch_add:
    case Call::compare_swap:
      answer.result = change(request, &answer.word);
      break;
    case Call::barrier:
      answer.result = node_.barrier(request.key, request.count);
      break;
    case Call::version:
      answer.result = node_.version(request.key, &answer.word);
      break;
    case Call::lock:
      answer.result = node_.lock(request.key, request.hold, request.may_wait != 0);
      break;
    case Call::unlock:
      answer.result = node_.unlock(request.key);
      break;
    case Call::lock_word:
      answer.result = node_.lock_word(request.key, &answer.word);
      break;
    default:
      answer.result = call_with_data(request, data, &answer);
  }
  return answer;
}

int Daemon::call_with_data(const Request& request, std::byte* data, Answer* answer) {
  if (request.nbytes > slot_data_bytes) return DDSS_EARGUMENT;
  answer->word = request.version;
  if (request.call == Call::get) {
    return node_.get(request.key, request.offset, {data, request.nbytes}, request.which,
                     &answer->word);
  }
  if (request.call == Call::put) {
    return node_.put(request.key, request.offset, {data, request.nbytes});
  }
  return DDSS_EARGUMENT;
}

int Daemon::change(const Request& request, std::uint64_t* before) {
  const Atomic what{request.call == Call::compare_swap, request.version, request.nbytes};
  return node_.change(request.key, request.offset, what, before);
}

int Daemon::allocate(const Request& request, const std::byte* data, Answer* answer) {
  const auto text = copy_of<AllocationText>(data);
  const std::string name = name_of(text.name);
  ddss_allocation_t how = text.how;
  how.name = name.empty() ? nullptr : name.c_str();
  how.was_created = &answer->was_created;
  return node_.allocate(request.nbytes, static_cast<ddss_model_t>(request.model), how,
                        &answer->key);
}

int Daemon::describe(Key key, std::byte* data) {
  ddss_description_t description{};
  const int error = node_.describe(key, &description);
  std::memcpy(data, &description, sizeof description);
  return error;
}

// Returns the node's number, and writes its address as text to `data`.
int Daemon::hello(std::byte* data) {
  const std::string& address = node_.address();
  std::memcpy(data, address.c_str(), address.size() + 1);
  return node_.node();
}

}  // namespace iw::ddss
