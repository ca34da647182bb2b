// The cluster's one way to other processes: active messages, one-sided access to memory, and word
// of who died. This room alone knows the transport library (UCX); everything above sees this
// header.
//
// - A Fabric is a process's part; a Worker is a bundle of communication with an address of its own.
//   A worker is progressed by whoever polls it or waits on it, and its handlers run there, one at a
//   time; the fabric's service threads progress the workers that nobody polls, so that what the
//   transport only emulates (see is_onesided) is answered while the application computes.
// - Every call may be made from any thread. A handler may send, put, get and the like, but never
//   wait: what would wait returns Status::in_handler.
// - An operation returns ok (done), pending (its Completion will be called, once), or why it failed
//   (the Completion will not be called). Buffers stay where they are until then.
// - A put is visible at its target after a flush, not before. On an adapter a message may overtake
//   it, so a thread that sends word of a put flushes first.
// - Memory that is handed to a call is touched with the worker's lock held. A fault there may not
//   wait for this worker.
// - Nothing waits longer than its deadline. A process that dies takes its peers' outstanding
//   operations with it: they complete with peer_dead, then on_death is called with its name.
// - A worker whose transport has failed takes another one (ucx_1_13.md). All its peers but itself
//   are lost in the same way, and it is lost to them. Its address stays, and connect() makes
//   peers of the two workers anew.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fabric/fabric.gen.h"

namespace iw::fabric {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;
using Bytes = std::span<const std::byte>;

enum class Status : std::uint8_t {
  ok,
  pending,
  timed_out,
  peer_dead,    // the process died, or its worker was closed
  unreachable,  // no transport leads there
  no_memory,
  bad_argument,
  in_handler,  // a handler may not wait
  failed,
  refused,  // the two processes did not prove the same job key; stderr says more
};
const char* to_string(Status status);

enum class Operation : std::uint8_t { message, put, get, fetch_add, compare_swap };

// Which transports may be used. IW_FABRIC=auto|shm|tcp|verbs chooses for by_environment (auto
// else). Without a job key, automatic is shm.
enum class Transport : std::uint8_t { by_environment, automatic, shm, tcp, verbs };

struct Options {
  Transport transport = Transport::by_environment;
  // How long a wait polls before it blocks; a message comes sooner while polled for.
  std::chrono::microseconds spin{20};
  // Without a job key in the environment: takes that of the rendezvous which the process opened
  // before. A fabric that speaks with processes outside of the job takes none.
  bool takes_key_of_rendezvous = true;
};

// An operation that is under way reports to it. Stays where it is until `done` has been called, by
// the thread that progresses the worker.
struct Completion {
  void (*done)(Completion& self, Status status) = nullptr;
};

// An Address is of a worker: to be handed to others, who connect with it. Opaque, unique for ever.
// computer:pid:worker, numbers in hexadecimal.
std::string to_string(const Address& address);

// A worker's index of another worker; never that of two. Of a dead one the address is known until
// a hundred more have died, and for as long as a window on it is open.
using PeerId = std::uint32_t;

struct Message {
  PeerId from;
  Bytes header;  // these two live until the handler returns
  Bytes payload;
  bool by_service;  // the handler runs on a service thread
};
using Handler = void (*)(void* context, const Message& message);
using MessageId = std::uint8_t;
// The room at the beginning of a message that is sent in place, for the fabric's own words.
inline constexpr std::size_t message_room_bytes = 8;

// Memory of this process that others reach with its key.
class Memory {
 public:
  virtual ~Memory() = default;
  std::span<std::byte> bytes() const { return bytes_; }
  // To be handed to others, who open a Window on it.
  const std::vector<std::byte>& key() const { return key_; }

 protected:
  std::span<std::byte> bytes_;
  std::vector<std::byte> key_;
};

// Another process's Memory, seen from one worker. To be closed before its worker.
class Window {
 public:
  virtual ~Window() = default;
  PeerId peer() const { return peer_; }
  std::size_t size() const { return size_; }
  // Where the memory can be loaded from and stored to directly; nullptr if it cannot.
  std::byte* direct() const { return direct_; }

 protected:
  PeerId peer_ = 0;
  std::size_t size_ = 0;
  std::byte* direct_ = nullptr;
};

class Worker {
 public:
  virtual ~Worker() = default;

  virtual const Address& address() const = 0;
  // How long its waits poll before they block; as the fabric's options say at first.
  virtual void set_spin(std::chrono::microseconds spin) = 0;

  // Peers. A worker that connects is at once a peer of the one it connected with: on_connect names
  // it.
  virtual Status connect(const Address& address, Deadline deadline, PeerId* peer) = 0;
  virtual const Address& peer_address(PeerId peer) const = 0;
  virtual bool is_alive(PeerId peer) const = 0;
  // True of a peer that was lost because this worker took another transport: it may live.
  virtual bool was_left(PeerId peer) const = 0;
  // Called as handlers are.
  virtual void on_connect(std::function<void(PeerId)> call) = 0;
  virtual void on_death(std::function<void(PeerId)> call) = 0;

  // Messages arrive once and in the order they were sent to that peer. To be set before anyone
  // knows the worker's address; a message without a handler is dropped.
  virtual void set_handler(MessageId id, Handler handler, void* context) = 0;
  virtual Status send(PeerId to, MessageId id, Bytes header, Bytes payload, Completion* done) = 0;
  // The same of a message that lies in one piece, room, header, payload: it is not copied to be put
  // together. `done` is not nullptr.
  virtual Status send_in_place(PeerId to, MessageId id, std::span<std::byte> piece,
                               std::size_t header_bytes, Completion* done) = 0;

  // One-sided access, within the window's bounds; words at multiples of 8. Never mix words that
  // others change by these with plain stores of the owner.
  virtual std::unique_ptr<Window> open(PeerId peer, Bytes key, Status* status) = 0;
  virtual Status put(Window& to, std::size_t offset, Bytes from, Completion* done) = 0;
  virtual Status get(Window& from, std::size_t offset, std::span<std::byte> to,
                     Completion* done) = 0;
  virtual Status fetch_add(Window& at, std::size_t offset, std::uint64_t add, std::uint64_t* before,
                           Completion* done) = 0;
  // Stores `desired` if the word is `expected`; `before` is what it was.
  virtual Status compare_swap(Window& at, std::size_t offset, std::uint64_t expected,
                              std::uint64_t desired, std::uint64_t* before, Completion* done) = 0;
  // Done when all earlier puts to the peer are visible there.
  virtual Status flush(PeerId peer, Completion* done) = 0;
  // True if the target's processor need not help: it may be busy, or stopped.
  virtual bool is_onesided(Operation operation, const Window& window) const = 0;
  // The same of memory that `peer` allocated from its fabric (not merely registered).
  virtual bool is_onesided(Operation operation, PeerId peer) const = 0;

  // The same, waiting. An operation that timed out may still happen at its target; its buffers are
  // the caller's again.
  virtual Status put(Window& to, std::size_t offset, Bytes from,
                     Deadline deadline) = 0;  // and flushed
  virtual Status get(Window& from, std::size_t offset, std::span<std::byte> to,
                     Deadline deadline) = 0;
  virtual Status fetch_add(Window& at, std::size_t offset, std::uint64_t add, std::uint64_t* before,
                           Deadline deadline) = 0;
  virtual Status compare_swap(Window& at, std::size_t offset, std::uint64_t expected,
                              std::uint64_t desired, std::uint64_t* before, Deadline deadline) = 0;
  virtual Status flush(PeerId peer, Deadline deadline) = 0;

  // Handles what has arrived; how much, 0 for nothing. 0, too, while another thread does.
  virtual unsigned progress() = 0;
  // Progresses until `is_done` says so: polls for the spin time, then blocks. No handler runs while
  // `is_done` does.
  virtual Status wait(const std::function<bool()>& is_done, Deadline deadline) = 0;
  // Makes the waits of other threads look at their conditions.
  virtual void wake() = 0;
  // For event loops: readable when there may be something to progress, once arm() has returned
  // true; false: progress first. It changes when the worker takes another transport (ucx_1_13.md);
  // the one before is readable then, and stays so until the worker ends.
  virtual int event_fd() const = 0;
  virtual bool arm() = 0;
  // Between these no handler of the worker runs; the thread is as if in one. May be nested.
  virtual void enter() = 0;
  virtual void leave() = 0;
  // True in a handler, on_connect or on_death of this worker, and between enter and leave.
  virtual bool in_handler() const = 0;
};

// Destroys the worker. Its handlers run until it is closed, and may use it by this pointer, which
// reset() would clear first.
inline void close_worker(std::unique_ptr<Worker>* worker) {
  delete worker->get();
  worker->release();
}

class Exclusion {
 public:
  explicit Exclusion(Worker& worker) : worker_(worker) { worker_.enter(); }
  ~Exclusion() { worker_.leave(); }
  Exclusion(const Exclusion&) = delete;
  Exclusion& operator=(const Exclusion&) = delete;

 private:
  Worker& worker_;
};

class Fabric {
 public:
  // nullptr, and why in *error. Takes the job key of the environment, or the one that the options
  // say. Without a key it speaks with processes of this machine only.
  static std::unique_ptr<Fabric> open(const Options& options, std::string* error);
  // Workers, windows and memory are to be closed before.
  virtual ~Fabric() = default;

  virtual std::unique_ptr<Worker> add_worker(Status* status) = 0;
  // Zeroed, page-aligned; on one machine others load and store it directly. Committed when touched.
  virtual std::unique_ptr<Memory> allocate(std::size_t bytes, Status* status) = 0;
  // The caller's own memory, which stays the caller's. Others reach it, but never one-sidedly on
  // shared memory or TCP.
  virtual std::unique_ptr<Memory> attach(std::span<std::byte> bytes, Status* status) = 0;
  virtual Transport transport() const = 0;  // never by_environment
  // How many did not prove the job key to this process since it was opened.
  virtual std::uint64_t strangers_refused() const = 0;
};

}  // namespace iw::fabric
