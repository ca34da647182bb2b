// A node that works for the processes of its machine. Each of their threads has a channel, and a
// thread here that serves the channel and holds the locks. When a process ends or is killed, its
// locks are released and its waits for locks end [DDSS-CHANNEL-4].
//
// The other end of a channel may change anything in it at any time. So a request is copied, then
// checked, then used.
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
  // Returns when stop() has been called. A signal handler may call stop().
  void run();
  void stop();

 private:
  struct Served {
    std::unique_ptr<ChannelEnd> end;
    std::atomic<bool> is_over{false};  // its process is gone
    std::atomic<bool> is_done{false};  // and the thread that served it is about to end
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
  const int done_fd_;  // readable when a thread is done
  int spare_fd_;       // closed to make room for a socket that is accepted only to be refused
  std::list<Served> served_;
};

}  // namespace iw::ddss
