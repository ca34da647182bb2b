// A worker, which is a ucp_worker with a lock around it and a table of peers.
//
// Invariants: the transport's worker is touched only with lock_ held; handlers, completions and the
// calls of on_connect and on_death run with it held. A peer's index is never used for another.
// Operations that the transport is still at have an Op from the worker's stock, which outlives
// them.
#pragma once

#include <ucp/api/ucp.h>

#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "fabric/answering.h"
#include "fabric/asking.h"
#include "fabric/fabric.h"
#include "fabric/memory_key.h"
#include "fabric/process_name.h"
#include "fabric/shared_segment.h"
#include "fabric/sleeper.h"
#include "fabric/worker_lock.h"
#include "platform/mutex.h"

namespace iw::fabric {

class UcxFabric;
class UcxWorker;

// The lower half of a peer's index is a place in the table, the upper half says how often that was
// used before.
inline constexpr unsigned place_bits = 16;
inline constexpr std::size_t peers_max = 1 << place_bits;
inline constexpr PeerId place_mask = peers_max - 1;
// So many dead are remembered; then the places of those that nobody has a window on are used again.
inline constexpr std::size_t dead_kept_max = 128;
// The library's fastest way is for one piece of about this size.
inline constexpr std::size_t one_piece_bytes_max = 128;

enum class PeerState : std::uint8_t { connecting, connected, dead };

struct Peer {
  PeerId id = 0;
  ucp_ep_h endpoint = nullptr;
  Address address;
  AddressParts parts;
  PeerId own_index_there = 0;  // once connected
  std::atomic<PeerState> state{PeerState::connecting};
  Status why = Status::peer_dead;  // of one that is dead
  Asked asked;
  Answered answered;
  unsigned windows = 0;  // that are open
};

// Before a message's header. A message that is small, or was sent in place, travels in one piece,
// another as header and payload.
struct Prefix {
  PeerId from;  // as its receiver knows the sender
  std::uint32_t header_bytes;
};
static_assert(sizeof(Prefix) == message_room_bytes);

// What the transport is at: kept until it calls back.
struct Op {
  UcxWorker* worker = nullptr;
  Completion* done = nullptr;
  std::array<std::byte, sizeof(Prefix) + header_bytes_max> header;
};

class UcxWindow final : public Window {
 public:
  // With the worker's lock held.
  UcxWindow(UcxWorker& worker, Peer* peer, const MemoryKey& key)
      : peer_state(peer), remote_address(key.address), region(key.region), worker_(worker) {
    peer_ = peer->id;
    size_ = key.size;
    peer->windows++;
  }
  ~UcxWindow() override;
  // Nothing if it cannot be mapped here.
  void map(std::unique_ptr<SharedSegment> segment) {
    segment_ = std::move(segment);
    direct_ = segment_ == nullptr ? nullptr : segment_->begin();
  }
  Peer* peer_state;
  std::uint64_t remote_address;
  RegionName region;
  Regions* own_regions = nullptr;  // of memory of this process
  ucp_rkey_h rkey = nullptr;       // where the transport reaches the memory by itself

 private:
  UcxWorker& worker_;
  std::unique_ptr<SharedSegment> segment_;
};

class UcxWorker final : public Worker {
 public:
  UcxWorker(UcxFabric& fabric, std::uint32_t number, ucp_worker_h worker);
  ~UcxWorker() override;
  Status start();

  const Address& address() const override { return address_; }
  void set_spin(std::chrono::microseconds spin) override { spin_.store(spin); }
  Status connect(const Address& address, Deadline deadline, PeerId* peer) override;
  const Address& peer_address(PeerId peer) const override;
  bool is_alive(PeerId peer) const override;
  void on_connect(std::function<void(PeerId)> call) override { on_connect_ = std::move(call); }
  void on_death(std::function<void(PeerId)> call) override { on_death_ = std::move(call); }
  void set_handler(MessageId id, Handler handler, void* context) override;
  Status send(PeerId to, MessageId id, Bytes header, Bytes payload, Completion* done) override;
  Status send_in_place(PeerId to, MessageId id, std::span<std::byte> piece,
                       std::size_t header_bytes, Completion* done) override;

  std::unique_ptr<Window> open(PeerId peer, Bytes key, Status* status) override;
  Status put(Window& to, std::size_t offset, Bytes from, Completion* done) override;
  Status get(Window& from, std::size_t offset, std::span<std::byte> to, Completion* done) override;
  Status fetch_add(Window& at, std::size_t offset, std::uint64_t add, std::uint64_t* before,
                   Completion* done) override;
  Status compare_swap(Window& at, std::size_t offset, std::uint64_t expected, std::uint64_t desired,
                      std::uint64_t* before, Completion* done) override;
  Status flush(PeerId peer, Completion* done) override;
  bool is_onesided(Operation operation, const Window& window) const override;
  bool is_onesided(Operation operation, PeerId peer) const override;

  Status put(Window& to, std::size_t offset, Bytes from, Deadline deadline) override;
  Status get(Window& from, std::size_t offset, std::span<std::byte> to, Deadline deadline) override;
  Status fetch_add(Window& at, std::size_t offset, std::uint64_t add, std::uint64_t* before,
                   Deadline deadline) override;
  Status compare_swap(Window& at, std::size_t offset, std::uint64_t expected, std::uint64_t desired,
                      std::uint64_t* before, Deadline deadline) override;
  Status flush(PeerId peer, Deadline deadline) override;

  unsigned progress() override;
  Status wait(const std::function<bool()>& is_done, Deadline deadline) override;
  void wake() override { sleeper_.wake(); }
  int event_fd() const override { return sleeper_.event_fd(); }
  bool arm() override;
  // Not analysed: its caller is to call both.
  void enter() override IW_NO_THREAD_SAFETY_ANALYSIS { lock_.lock(); }
  void leave() override IW_NO_THREAD_SAFETY_ANALYSIS { lock_.unlock(); }
  bool in_handler() const override { return lock_.is_mine(); }

  // For the fabric and its service threads.
  std::uint32_t number() const { return number_; }
  const std::vector<std::byte>& transport_address() const { return transport_address_; }
  void note_death(const ProcessName& process);
  bool is_waited_on() const { return attending_.load() > 0; }
  std::uint64_t polls() const { return polls_.load(std::memory_order_relaxed); }
  enum class Served { armed, busy, in_use };
  Served serve();

 private:
  friend class Answerer;
  friend class Asker;
  friend class Attendance;
  friend class UcxWindow;
  struct HandlerSlot {
    UcxWorker* worker = nullptr;
    Handler handler = nullptr;
    void* context = nullptr;
  };
  struct Hello {
    Address address;
    PeerId index_of_receiver;
    PeerId index_here;  // welcome only
  };
  using PeerKey = std::pair<std::array<std::uint64_t, 2>, std::uint32_t>;

  // Peers (peers.cc). All with the lock held.
  Peer* find(PeerId id) const IW_REQUIRES(lock_) {
    const PeerId place = id & place_mask;
    Peer* const peer = place < peer_at_.size() ? peer_at_[place] : nullptr;
    return peer != nullptr && peer->id == id ? peer : nullptr;
  }
  Status why_unknown(PeerId peer) const IW_REQUIRES(lock_);
  Peer* peer_to_forget() const IW_REQUIRES(lock_);
  bool has_room() const IW_REQUIRES(lock_) {
    return peers_.size() < peers_max || peer_to_forget() != nullptr;
  }
  Peer& place_for_peer() IW_REQUIRES(lock_);
  Status ask_for(const AddressParts& parts, const PeerKey& key, Deadline deadline);  // takes it
  PeerId add_peer(const AddressParts& parts, ucp_ep_h endpoint) IW_REQUIRES(lock_);
  Status open_endpoint(const AddressParts& parts, Bytes transport_address, ucp_ep_h* endpoint)
      IW_REQUIRES(lock_);
  Status introduce(PeerId peer) IW_REQUIRES(lock_);
  Status say_hello(PeerId peer) IW_REQUIRES(lock_);
  void take_hello(Bytes header, Bytes transport_address, ucp_ep_h came_by) IW_REQUIRES(lock_);
  void fail(PeerId peer, Status why) IW_REQUIRES(lock_);
  void fail_soon(PeerId peer, Status why) IW_REQUIRES(lock_);
  void close_endpoint(Peer& peer, bool by_force) IW_REQUIRES(lock_);
  void close_endpoint(ucp_ep_h endpoint, bool by_force) IW_REQUIRES(lock_);
  ucp_request_param_t closing_param() IW_REQUIRES(lock_);
  void say_goodbye_to_all() IW_REQUIRES(lock_);
  void progress_until_closed() IW_REQUIRES(lock_);
  void bury_the_dead() IW_REQUIRES(lock_);
  void handle_what_is_here() IW_REQUIRES(lock_);
  ucs_status_t set_internal_handlers();
  static ucs_status_t on_hello(void*, const void*, std::size_t, void*, std::size_t,
                               const ucp_am_recv_param_t*);
  static ucs_status_t on_welcome(void*, const void*, std::size_t, void*, std::size_t,
                                 const ucp_am_recv_param_t*);
  static ucs_status_t on_goodbye(void*, const void*, std::size_t, void*, std::size_t,
                                 const ucp_am_recv_param_t*);
  static ucs_status_t on_request(void*, const void*, std::size_t, void*, std::size_t,
                                 const ucp_am_recv_param_t*);
  static ucs_status_t on_answer(void*, const void*, std::size_t, void*, std::size_t,
                                const ucp_am_recv_param_t*);
  static ucs_status_t on_message(void*, const void*, std::size_t, void*, std::size_t,
                                 const ucp_am_recv_param_t*);
  static void on_endpoint_error(void* worker, ucp_ep_h endpoint, ucs_status_t status);

  // How workers meet on verbs (calls.cc). All with the lock held.
  Status listen() IW_REQUIRES(lock_);
  Status call(Bytes place, ucp_ep_h* endpoint) IW_REQUIRES(lock_);
  void close_listener() IW_REQUIRES(lock_);
  ucp_ep_params_t endpoint_params(ucp_err_handling_mode_t mode);
  static void on_call(ucp_conn_request_h request, void* worker);

  void deliver(const HandlerSlot& slot, const Message& message) IW_REQUIRES(lock_);
  void deliver_later(const HandlerSlot& slot, const Message& message) IW_REQUIRES(lock_);
  // nullptr, and why, if it cannot be sent to.
  Peer* find_connected(PeerId peer, Status* why) const IW_REQUIRES(lock_);

  // Operations. All with the lock held.
  Op* take_op(Completion* done) IW_REQUIRES(lock_);
  Status settle(ucs_status_ptr_t posted, Op* op) IW_REQUIRES(lock_);
  static void on_done(void* request, ucs_status_t status, void* op);
  static void on_sent(void* request, ucs_status_t status, void* completion);
  Status check(const Window& window, std::size_t offset, std::size_t bytes, bool is_word) const;
  static Status reach(const Window& window);
  Status reach_without_asking(Bytes transport_key, UcxWindow* window) IW_REQUIRES(lock_);
  bool is_reached_by_messages(const Window& window, Operation operation) const;
  Status post_put(const Window& to, std::size_t offset, Bytes from, bool is_told, Completion* done);
  Status flush_endpoint(const Peer& peer, Completion* done) IW_REQUIRES(lock_);
  Status flush_both_ways(PeerId peer, Completion* done) IW_REQUIRES(lock_);
  void flush_what_was_asked(PeerId peer, Status status, Completion* done) IW_REQUIRES(lock_);
  // A message of the fabric's own. `data` stays where it is if the result is pending.
  Status tell(ucp_ep_h endpoint, MessageId id, Bytes head, Bytes data, Completion* done)
      IW_REQUIRES(lock_);
  Status send_begun(ucp_ep_h endpoint, MessageId id, Op* op, std::size_t begin_bytes, Bytes payload)
      IW_REQUIRES(lock_);
  Status send_on(ucp_ep_h endpoint, MessageId id, Bytes header, Bytes payload, Op* op,
                 unsigned flags = 0) IW_REQUIRES(lock_);

  // Waiting.
  struct Waited;
  template <typename Post>
  Status await(Waited* waited, Deadline deadline, Post post);
  unsigned progress_held() IW_REQUIRES(lock_) {
    is_progressing_ = true;
    unsigned handled = ucp_worker_progress(worker_);
    is_progressing_ = false;
    if (has_dead_.load(std::memory_order_relaxed)) bury_the_dead();
    if (!after_progress_.empty()) handled += run_after_progress();
    return handled;
  }
  unsigned run_after_progress() IW_REQUIRES(lock_);
  bool arm_held() IW_REQUIRES(lock_);
  bool arm_to_sleep() IW_REQUIRES(lock_);
  bool block(const std::function<bool()>& is_done, Deadline deadline);
  bool arm_as_leader(const std::function<bool()>& is_done, bool* is_over);

  UcxFabric& fabric_;
  const std::uint32_t number_;
  ucp_worker_h worker_;
  Sleeper sleeper_;
  Address address_;
  std::vector<std::byte> transport_address_;
  mutable WorkerLock lock_;
  std::atomic<std::chrono::microseconds> spin_;
  bool is_progressing_ IW_GUARDED_BY(lock_) = false;  // in the transport, which calls handlers
  bool is_handling_ IW_GUARDED_BY(lock_) = false;     // in a message's handler
  bool is_service_ IW_GUARDED_BY(lock_) = false;      // who holds the lock is a service thread

  std::deque<Peer> peers_ IW_GUARDED_BY(lock_);
  // Where they are, which a deque is slow to find.
  std::vector<Peer*> peer_at_ IW_GUARDED_BY(lock_);
  // In the order of their deaths, without the forgotten.
  std::deque<Peer*> dead_peers_ IW_GUARDED_BY(lock_);
  std::map<PeerKey, PeerId> peer_of_ IW_GUARDED_BY(lock_);
  std::set<PeerKey> asked_for_ IW_GUARDED_BY(lock_);  // at their doors
  // What may not be done in a callback.
  std::vector<std::function<void()>> after_progress_ IW_GUARDED_BY(lock_);
  std::size_t late_messages_ IW_GUARDED_BY(lock_) = 0;  // of these; so that no other overtakes them
  // Endpoints whose last words are under way, or that are being closed.
  std::size_t closing_ IW_GUARDED_BY(lock_) = 0;
  ucp_listener_h listener_ IW_GUARDED_BY(lock_) = nullptr;  // on verbs
  // That others opened: of those who have not said hello yet, or whom this worker has called too.
  std::set<ucp_ep_h> called_by_ IW_GUARDED_BY(lock_);
  std::array<HandlerSlot, message_ids> handlers_ IW_GUARDED_BY(lock_);
  std::function<void(PeerId)> on_connect_, on_death_;
  Asker asker_ IW_GUARDED_BY(lock_){*this};
  Answerer answerer_ IW_GUARDED_BY(lock_){*this};
  std::deque<Op> ops_ IW_GUARDED_BY(lock_);
  std::vector<Op*> free_ops_ IW_GUARDED_BY(lock_);

  platform::Mutex dead_mutex_;
  std::vector<ProcessName> dead_ IW_GUARDED_BY(dead_mutex_);
  std::atomic<bool> has_dead_{false};

  std::atomic<std::uint64_t> polls_{0};
  std::atomic<int> attending_{0};
};

}  // namespace iw::fabric
