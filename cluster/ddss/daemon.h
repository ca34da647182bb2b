// A node that works for the processes of its machine: each of their threads has a channel, and a
// thread here that serves it, in whose name locks are held. Who ends, or is killed, lets go of
// them, and waits for none any more.
//
// Everything in a channel may be changed at any time by its other end: it is copied, then checked,
// then used.
#pragma once

#include <atomic>
#include <list>
#include <thread>

#include "ddss/channel.h"
#include "ddss/daemon_socket.h"
#include "ddss/node.h"

namespace iw::ddss {

class Daemon {
 public:
  // `spin`: how long its threads poll before they sleep.
  Daemon(Node& node, const DaemonSocket& socket, std::chrono::microseconds spin);
  ~Daemon();
  // Until stop() was called, which a signal handler may do.
  void run();
  void stop();

 private:
  struct Served {
    std::unique_ptr<ChannelEnd> end;
    std::atomic<bool> is_over{false};  // its process is gone
    std::atomic<bool> is_done{false};  // and its thread has noticed
    std::thread thread;
  };
  void accept_one();
  void admit(int socket);
  void reap();
  void serve(Served& served);
  void answer(Channel& channel, std::uint32_t number);
  void undo(const Request& request, const std::byte* data, const Answer& answer);
  Answer call(const Request& request, std::byte* data);
  int call_with_data(const Request& request, std::byte* data, Answer* answer);
  int change(const Request& request, std::uint64_t* before);
  int allocate(const Request& request, const std::byte* data, Answer* answer);
  int describe(Key key, std::byte* data);
  int hello(std::byte* data);

  Node& node_;
  const int listener_;
  const std::chrono::microseconds spin_;
  const int stop_fd_;
  const int done_fd_;  // a thread is done
  int spare_fd_;  // its place in the table of open files is for the socket of one who is refused
  std::list<Served> served_;
};

}  // namespace iw::ddss
