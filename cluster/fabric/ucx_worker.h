// A worker: what Worker promises, put together from parts.
//
//   part        what it owns                                              guarded by
//   Messenger   the transport's worker, what is posted and left for later  lock_
//   PeerTable   peers by index and by name                                 lock_
//   Peers       hellos and goodbyes, and the endpoints                     lock_
//   Asker       what peers were asked to do with their memory              lock_
//   Answerer    what peers ask for                                         lock_
//   Sleeper     the threads that wait and have nothing to do               its own mutex
//   Deaths      processes that the door saw end                            its own mutex
//   Passes      who may say hello                                          its own mutex
//   Hearing     whether the worker hears, after a death                    lock_
//
// Invariants: the transport's worker is touched only with lock_ held. Handlers, completions and the
// calls of on_connect and on_death run with it held.
#pragma once

#include <ucp/api/ucp.h>

#include <array>
#include <atomic>
#include <memory>
#include <utility>

#include "fabric/answering.h"
#include "fabric/asking.h"
#include "fabric/deaths.h"
#include "fabric/end_of_process.h"
#include "fabric/fabric.h"
#include "fabric/hearing.h"
#include "fabric/leave.h"
#include "fabric/messenger.h"
#include "fabric/peer_table.h"
#include "fabric/peers.h"
#include "fabric/sleeper.h"
#include "fabric/ucx_window.h"
#include "fabric/worker_lock.h"
#include "platform/mutex.h"

namespace iw::fabric {

struct Buffered;
class UcxFabric;

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
  bool was_left(PeerId peer) const override;
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
  // By the door, without the lock.
  std::vector<std::byte> admit(const Caller& caller) {
    passes_.give(caller.pass, caller.process.nonce, caller.worker, Clock::now());
    const platform::MutexLock held(address_mutex_);
    return transport_address_;
  }
  void note_death(const ProcessName& process) {
    deaths_.note(process);
    wake();
  }
  bool is_waited_on() const { return attending_.load() > 0; }
  // How it was polled since it had these counts, which are counted up to now.
  Polled polled_since(Polls* before) const {
    const Polls now{wait_polls_.load(std::memory_order_relaxed),
                    polls_.load(std::memory_order_relaxed)};
    const Polls then = std::exchange(*before, now);
    if (now.by_program != then.by_program) return Polled::by_program;
    return now.in_waits != then.in_waits ? Polled::in_waits : Polled::no;
  }
  enum class Served { armed, busy, in_use };
  Served serve();

 private:
  struct HandlerSlot {
    UcxWorker* worker = nullptr;
    Handler handler = nullptr;
    void* context = nullptr;
  };
  class Attendance;

  Peers::Callbacks callbacks_of_peers();
  Status open_transport() IW_REQUIRES(lock_);
  Status ask_for(const AddressParts& parts, Deadline deadline);  // takes it
  Status await_welcome(const PeerKey& key, Deadline deadline, PeerId* peer);
  void progress_until_closed() IW_REQUIRES(lock_);

  // Deafness [UCX-12].
  void bury_the_dead(unsigned handled) IW_REQUIRES(lock_);
  bool may_be_deafened_by(const std::vector<ProcessName>& dead) IW_REQUIRES(lock_);
  void listen() IW_REQUIRES(lock_);
  void take_new_transport() IW_REQUIRES(lock_);
  bool change_transport(ucp_worker_h made) IW_REQUIRES(lock_);

  // Messages.
  static ucs_status_t on_request(void*, const void*, std::size_t, void*, std::size_t,
                                 const ucp_am_recv_param_t*);
  static ucs_status_t on_answer(void*, const void*, std::size_t, void*, std::size_t,
                                const ucp_am_recv_param_t*);
  static ucs_status_t on_message(void*, const void*, std::size_t, void*, std::size_t,
                                 const ucp_am_recv_param_t*);
  static ucs_status_t on_hearing(void*, const void*, std::size_t, void*, std::size_t,
                                 const ucp_am_recv_param_t*);
  void hand_over(const HandlerSlot& slot, const Message& message) IW_REQUIRES(lock_) {
    is_handling_ = true;
    slot.handler(slot.context, message);
    is_handling_ = false;
  }
  void deliver_late(const HandlerSlot& slot, const Message& message) IW_REQUIRES(lock_);
  void deliver_later(const HandlerSlot& slot, const Message& message) IW_REQUIRES(lock_);

  // One-sided access (onesided.cc).
  Status check(const Window& window, std::size_t offset, std::size_t bytes, bool is_word) const;
  static Status reach(const Window& window);
  Status reach_without_asking(Bytes transport_key, UcxWindow* window) IW_REQUIRES(lock_);
  bool is_reached_by_messages(const Window& window, Operation operation) const;
  Status post_put(const Window& to, std::size_t offset, Bytes from, bool is_told, Completion* done);
  Status flush_both_ways(PeerId peer, Completion* done) IW_REQUIRES(lock_);
  void flush_what_was_asked(PeerId peer, Status status, Completion* done) IW_REQUIRES(lock_);

  // Waiting.
  template <typename Post>
  Status await(Buffered* waited, Deadline deadline, Post post);
  unsigned progress_held() IW_REQUIRES(lock_) {
    unsigned handled = messenger_.poll();
    if (deaths_.is_any()) bury_the_dead(handled);
    if (messenger_.has_later()) handled += messenger_.run_later();
    return handled;
  }
  bool arm_held() IW_REQUIRES(lock_);
  bool arm_to_sleep() IW_REQUIRES(lock_);
  bool block(const std::function<bool()>& is_done, Deadline deadline);
  bool arm_as_leader(const std::function<bool()>& is_done, bool* is_over);

  UcxFabric& fabric_;
  const std::uint32_t number_;
  const Address address_;
  platform::Mutex address_mutex_;
  std::vector<std::byte> transport_address_ IW_GUARDED_BY(address_mutex_);
  mutable WorkerLock lock_;
  EndsWithProcess ends_with_process_{lock_};
  std::function<void(PeerId)> on_connect_, on_death_;

  Sleeper sleeper_;
  Deaths deaths_;
  Passes passes_;
  std::atomic<std::chrono::microseconds> spin_;
  std::atomic<std::uint64_t> polls_{0}, wait_polls_{0};  // by the program, and in waits
  std::atomic<int> attending_{0};

  Messenger messenger_ IW_GUARDED_BY(lock_);
  PeerTable table_ IW_GUARDED_BY(lock_);
  Peers peers_ IW_GUARDED_BY(lock_);
  Asker asker_ IW_GUARDED_BY(lock_);
  Answerer answerer_ IW_GUARDED_BY(lock_);
  std::array<HandlerSlot, message_ids> handlers_ IW_GUARDED_BY(lock_);
  bool is_handling_ IW_GUARDED_BY(lock_) = false;  // in a message's handler
  bool is_service_ IW_GUARDED_BY(lock_) = false;  // the thread that holds the lock is the service's
  // Messages that are left for later, so that no other overtakes them.
  std::size_t late_messages_ IW_GUARDED_BY(lock_) = 0;

  std::unique_ptr<Hearing> hearing_ IW_GUARDED_BY(lock_);  // nullptr: it hears
  bool must_listen_again_ IW_GUARDED_BY(lock_) = false;    // somebody died after the hearing began
  // Transports of before. Others write into their queues, and threads sleep on their descriptors.
  std::vector<ucp_worker_h> deaf_ IW_GUARDED_BY(lock_);
};

}  // namespace iw::fabric
