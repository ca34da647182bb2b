// What the process has once: its segments by URL, its links by server, and the library's thread,
// which reads what nobody waits for and renews leases. Callbacks run, holding no lock, on a thread
// of their own, made when the first one is due: they may take as long as they like. So does
// reconnecting for those who listen [CONN-1].
//
// Never destroyed: threads may use it until the process ends. A forked child makes a new one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "abi/link.h"
#include "abi/segment.h"
#include "platform/socket.h"
#include "session/reconnection.h"
#include "swizzle/swizzler.h"

namespace iw::abi {

class Runtime {
 public:
  static Runtime& get();

  // Made at the first call for a URL; not yet opened. The token counts when the server's link is
  // made.
  IW_segment& segment_for(const types::Url& url, const std::string& token);
  // Null: never heard of, or lost.
  IW_segment* find_segment(const types::Url& url);

  // Makes blocks of another segment known, if that is possible by then; for pointers.
  Result describe(const types::Url& url, std::vector<std::uint64_t> serials,
                  std::int64_t deadline_ns);

  // The library's thread has something new to do.
  void wake() const { wake_.signal(); }

  int event_fd();
  void dispatch();
  void goodbye();

 private:
  Runtime();
  void serve();
  void serve_once();
  std::int64_t run_timers(std::int64_t now_ns);
  std::int64_t next_change_ns();
  void tell_of_changes();
  void run_callbacks();
  void serve_callbacks();
  bool is_connection_wanted();
  void keep_connected();
  void serve_connections();
  std::int64_t reconnect(std::map<const Link*, session::Reconnection>& paces);
  void wait_and_read(std::int64_t deadline_ns);
  std::vector<IW_segment*> segments();
  std::vector<Link*> links();

  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<IW_segment>> segments_;
  std::vector<std::unique_ptr<IW_segment>> lost_;  // of which some handles may still be open
  std::map<std::string, std::unique_ptr<Link>> links_;
  platform::WakeUp wake_;
  platform::WakeUp events_;                 // readable when dispatch() has something to do
  platform::WakeUp callbacks_;              // readable when the thread of callbacks has
  std::atomic<bool> is_dispatched_{false};  // callbacks run in dispatch()
  bool has_callback_thread_ = false;        // the library's thread makes it
  std::mutex connections_mutex_;            // of the two that follow
  std::condition_variable connections_;
  bool is_connecting_wanted_ = false;
  bool has_connection_thread_ = false;  // the library's thread makes it
};

// The heaps of this process, for one translation: they stay while it lives.
class HeapResolver final : public swizzle::Resolver {
 public:
  explicit HeapResolver(Runtime& runtime) : runtime_(runtime) {}
  memory::Heap* find(const types::Url& url) override;
  swizzle::StubReason why_missing(const types::Url& url) override;
  // Blocks of the segment were asked for, with this result.
  void asked(const types::Url& url, const Result& result);

 private:
  Runtime& runtime_;
  std::vector<std::shared_ptr<memory::Heap>> kept_;
  std::map<std::string, swizzle::StubReason> reasons_;
};

}  // namespace iw::abi
