// One rank of a job with page-based shared memory: the machines of pages, locks and barriers on one
// worker of the fabric, and the threads that wait for them.
//
// - The worker's exclusion (fabric.h) is the rank's only mutex. Handlers run with it held, and none
//   waits. A thread that waits calls Worker::wait. The service threads answer other ranks while the
//   application computes.
// - A thread that holds the exclusion must not touch the heap: a fault waits for the worker.
// - A death, or a message that breaks the protocol, ends the job. Each wait and each later call of
//   every rank returns the same Result, which names the rank.
//
// All functions but start are thread-safe. None but the getters may be called from a handler.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>

#include "dsm/dsm.gen.h"
#include "dsm/memory/checked_memory.h"
#include "dsm/memory/heap.h"
#include "dsm/node/node_mail.h"
#include "dsm/node/node_start.h"
#include "dsm/node/trace.h"
#include "dsm/protocol/attendance.h"
#include "dsm/protocol/barriers.h"
#include "dsm/protocol/locks.h"
#include "dsm/protocol/messages.h"
#include "dsm/protocol/pages.h"
#include "dsm/protocol/receiver.h"
#include "fabric/fabric.h"

namespace iw::dsm {

// What became of a call. peer_dead, failed: `rank` died, or broke the protocol. bad_argument: the
// program is wrong (a lock that the thread has already, or does not have; ranks at different
// barriers, where `rank` is one of them).
struct Result {
  fabric::Status status = fabric::Status::ok;
  Rank rank = 0;
  bool is_ok() const { return status == fabric::Status::ok; }
  friend bool operator==(const Result&, const Result&) = default;
};

// Pages whose home is chosen by the program.
struct Placement {
  PageNumber first = 0;
  std::size_t count = 0;
  Rank home = 0;             // of the first page
  bool is_by_turns = false;  // the next page is at the next rank
};

// Counts since the start, of this rank (PIPE, Table 2).
struct Stats {
  MailStats mail;
  PageCounts pages;
  std::uint64_t misses = 0;      // faults, and pages that touch() had to open
  std::uint64_t fetches = 0;     // misses that had to wait for another rank
  std::uint64_t twin_bytes = 0;  // of twins, and of memory that is kept for them, now
  std::uint64_t locks = 0;       // acquires
  std::uint64_t lock_waits = 0;  // acquires that had to wait
  std::uint64_t barriers = 0;
  std::uint64_t log_bytes = 0;         // of the log of intervals, now
  std::uint64_t collections = 0;       // of logs
  std::uint64_t remembered_locks = 0;  // of which something is remembered, now
};

class Node final : FaultHandler,
                   PageListener,
                   LockListener,
                   BarrierListener,
                   AttendanceListener,
                   MailListener {
 public:
  // A handler of a service above the node (conditions, counters). Ids from first_service to
  // fabric::message_ids - 1. Messages may come from the start on; they run with the exclusion held.
  struct Service {
    fabric::MessageId id = 0;
    fabric::Handler handler = nullptr;
    void* context = nullptr;
  };
  static constexpr fabric::MessageId first_service = service_first;

  struct Options {
    HeapOptions heap;
    DiffWay diffs = DiffWay::pipe;
    std::size_t buffer_bytes = buffer_bytes_usual;
    unsigned depth = depth_usual;
    // Pages of ranks on this machine are read in their memory [DSM-PAGE-9].
    bool is_direct = true;
    // How much the log of intervals may grow between two collections [DSM-LOG-1].
    std::size_t log_bytes = std::size_t{64} << 20;
    // Of copies of pages away from their home, at most; 0: as many as there is memory for.
    std::size_t cache_bytes = 0;
    // Of the tree of barriers; 0: as usual (barrier_tree.h).
    Rank fan_in = 0;
    // How many free locks stay at a rank [DSM-LOCK-7].
    std::size_t kept_locks = Locks::kept_usual;
    // Which diffs stay at their writers [DSM-PULL-1] [DSM-PULL-2].
    DiffOptions kept_diffs;
    std::chrono::milliseconds timeout{60000};  // of the start
    std::vector<Service> services;
    // Pointers out of the heap are told (checked_memory.h).
    bool checks_pointers = false;
    // A file for each rank, for a replay in virtual time (trace.h). Empty: none.
    std::string trace;
    // Settings that all ranks must share, in one number; 0: none.
    std::uint64_t settings_hash = 0;
  };
  // Options as the environment says: IW_DSM_HEAP (bytes, or with K, M, G, T), IW_DSM_PAGE,
  // IW_DSM_DIRECT=yes|no, IW_DSM_FAULTS=best|userfaultfd|sigsegv, IW_DSM_DIFFS=pipe|orig,
  // IW_DSM_BUFFER, IW_DSM_DEPTH, IW_DSM_LOG, IW_DSM_CACHE, IW_DSM_CHECK=yes|no, IW_DSM_FAN_IN,
  // IW_DSM_LOCKS, IW_DSM_PULL=yes|no, IW_DSM_FETCH=home|writer, IW_DSM_KEEP,
  // IW_DSM_TRACE, with which pages come by messages only [DSM-PAGE-9]. False, and why in *error.
  static bool read_environment(Options* options, std::string* error);

  // Meets the other ranks (fabric/rendezvous.h) and maps the heap. Collective. nullptr, and why in
  // *error: no rendezvous, settings that differ (with both values and ranks), no common address.
  static std::unique_ptr<Node> start(const Options& options, std::string* error);
  // Without finish() the other ranks take it for a death.
  ~Node() override;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  Rank rank() const { return me_; }
  Rank ranks() const { return ranks_; }
  Heap& heap() { return *heap_; }
  fabric::Worker& worker() { return *worker_; }
  // Of a message's sender.
  Rank rank_of(fabric::PeerId peer) const { return mail_.rank_of(peer).value_or(me_); }

  // The first barrier: ends the replay [DSM-START-1]. Collective, by one thread while no other uses
  // the heap. Pages from `end` on are zeroes. bad_argument: the hash, the end or the homes of
  // `rank` differ from those of rank 0.
  Result begin(std::uint64_t replay_hash, PageNumber end, std::span<const Placement> homes);
  bool has_begun() const { return has_begun_.load(std::memory_order_acquire); }

  // bad_argument: this thread has the lock already. Messages: none if the lock is here, else 2
  // or 3.
  Result lock(LockId lock);
  // *got: whether the thread has the lock now. Never waits for a holder.
  Result try_lock(LockId lock, bool* got);
  // bad_argument: this thread does not have the lock. No message, unless another rank waits.
  Result unlock(LockId lock);
  bool has_lock(LockId lock);
  // bad_argument: another thread of this rank is at a barrier, or ranks are at different ones.
  Result barrier(BarrierId barrier);
  // The thread comes to a collective of a service above. Returns how many barriers this rank has
  // passed. Ranks that wait for each other in different places end the job. Under the exclusion.
  std::uint64_t come_to_collective();
  // Another rank has told that it is at one. Under the exclusion.
  void heard_collective(Rank from, std::uint64_t barriers, std::uint64_t collectives) {
    attendance_.heard(from, {Where::collective, barriers, collectives});
  }
  // Opens many pages: asks for all, then waits. Another thread's acquire may close them again.
  Result touch(PageNumber first, std::size_t count, Access wanted);

  // A service's message to another rank. bad_argument: to this rank itself, or no service's id.
  // May be called from a handler and under the exclusion.
  Result send(Rank to, fabric::MessageId id, fabric::Bytes header, fabric::Bytes payload);
  // Until `is_done`, which runs under the exclusion, or the job has failed.
  Result wait(const std::function<bool()>& is_done);
  // Makes wait() of other threads look again. Needed after a change outside of handlers.
  void wake() { worker_->wake(); }
  // ok, or why the job has failed.
  Result health();
  // Ends the job at all ranks with this result, as a death would. Under the exclusion or not.
  void fail(const Result& why);
  // Called on the thread whose fault cannot be served, because the job has failed. When the call
  // returns, or without one, the process ends with status 3 and a message.
  void on_failure(std::function<void(const Result&)> call);

  Stats stats();
  // Collective: serves pages until all ranks are there. Deaths afterwards do not count.
  Result finish();
  // Behind finish(): each wait and each later call returns refused.
  void end_waits();

 private:
  // Each kind of message finds the node by one of these. Without a node a message is dropped.
  struct Entry {
    Node* node = nullptr;
    Message kind{};
  };
  using Entries = std::array<Entry, message_count>;

  // A lock of this rank as its threads see it: one of them asks or has it, the others queue.
  enum class Answer : std::uint8_t { none, granted, refused };
  struct Ticket {
    bool is_turn = false;
  };
  struct LocalLock {
    bool is_taken = false;
    Answer answer = Answer::none;
    std::thread::id holder;
    std::list<Ticket*> queue;  // takes no memory while it is empty, and most are
  };

  Node(const Options& options, Meeting meeting, std::unique_ptr<Entries> entries,
       std::unique_ptr<Trace> trace);
  static void set_handlers(const Options& options, fabric::Worker& worker, Entries* entries);

  // FaultHandler
  bool on_fault(PageNumber page, Access wanted) override;
  // PageListener
  void ready(PageNumber page) override;
  void needs_no_interval(Rank asker, PageNumber page) override;
  // LockListener
  void acquired(LockId lock) override;
  void not_acquired(LockId lock) override;
  void granted_with_gap(Rank from) override { break_off(from, Message::grant); }
  // BarrierListener
  void passed(const VectorTime& common) override;
  void mismatch(Rank rank, BarrierId there, BarrierId here) override;
  void arrived_twice(Rank rank, BarrierId barrier) override;
  // AttendanceListener
  void contradict(const Attendant& one, const Attendant& other) override;
  // MailListener
  void not_sent(Rank to, fabric::Status why) override;

  Result open_page(PageNumber page, Access wanted);
  Pages::Touch touch_counted(PageNumber page, Access wanted);
  bool is_mine(const LocalLock& local) const;
  void begin_turn(LockId lock, LocalLock& local, bool is_try);
  void end_turn(LocalLock& local);
  void forget_if_free(LockId lock);
  Result wait_for_lock(LockId lock, LocalLock& local, bool is_queued, Ticket* ticket);
  Result wait_for_room();
  void come(Where where);
  bool is_valid(PageNumber end, std::span<const Placement> homes) const;
  void place_all(std::span<const Placement> homes);
  void note(const char* event, std::initializer_list<std::uint64_t> numbers = {}) {
    if (trace_ != nullptr) trace_->note(event, numbers);
  }
  void note_clock() {
    if (trace_ == nullptr) return;
    const fabric::Exclusion exclusion(*worker_);
    trace_->note_clock();
  }
  void tell_job(Rank to, const JobHead& head);
  void tell_job_to_others(const JobHead& head);
  void end_job(const Result& why, bool is_told);

  // Messages (node_serving.cc). False: the message breaks the protocol.
  static void on_message(void* context, const fabric::Message& message);
  void take(Message kind, const fabric::Message& message);
  bool serve(Message kind, Rank from, fabric::Bytes header, fabric::Bytes payload);
  bool serve_job(Rank from, fabric::Bytes header, fabric::Bytes payload);
  bool take_begin(Rank from, const JobHead& head);
  void compare_beginnings();
  bool take_finish(Rank from);
  bool take_end(const JobHead& head);
  void break_off(Rank from, Message kind);
  // Collection of logs (node_logs.cc).
  void collect_if_grown();
  void ask_to_collect();
  void begin_collection();
  void take_known(Rank from, const VectorTime& known);
  void tell_log(Rank to, Job job, const VectorTime& time, std::span<const Interval> intervals);
  void forget(const VectorTime& time);
  bool serve_collection(Rank from, Job job, fabric::Bytes payload);
  void on_death(fabric::PeerId peer);
  Bounds bounds() const { return {ranks_, pages_of_heap_}; }

  const Options options_;
  const Rank me_;
  const Rank ranks_;
  std::unique_ptr<Entries> entries_;
  std::unique_ptr<fabric::Rendezvous> rendezvous_;
  std::unique_ptr<fabric::Fabric> fabric_;
  std::unique_ptr<fabric::Worker> worker_;
  std::unique_ptr<Heap> heap_;
  std::unique_ptr<HomeTables> tables_;
  const PageNumber pages_of_heap_;

  // All below is guarded by the exclusion.
  const std::unique_ptr<CheckedMemory> checked_;  // or nullptr
  const std::unique_ptr<Trace> trace_;            // or nullptr
  NodeMail mail_;
  TracedMail traced_mail_;
  Pages pages_;
  Locks locks_;
  const BarrierTree tree_;
  Barriers barriers_;
  Attendance attendance_;
  Receiver receiver_;
  std::unordered_map<LockId, LocalLock> local_locks_;
  std::uint32_t releases_ = 0;
  bool is_at_barrier_ = false;
  std::uint64_t barriers_passed_ = 0;
  std::uint64_t collectives_ = 0;

  // The beginning and the end. Rank 0 keeps the lists of all ranks.
  bool is_serving_ = false;  // the replay is over here
  std::atomic<bool> has_begun_{false};
  std::vector<std::optional<JobHead>> begun_;
  std::size_t begun_count_ = 0;
  std::vector<bool> finished_;
  std::size_t finished_count_ = 0;
  bool is_finishing_ = false;
  bool has_finished_ = false;
  std::vector<bool> is_gone_;

  // The collection of logs. Rank 0 keeps the list of all ranks' times.
  bool has_asked_to_collect_ = false;
  bool is_collecting_ = false;
  std::size_t log_bytes_before_ = 0;  // when the last round was over
  std::vector<std::optional<VectorTime>> known_;

  std::optional<Result> failure_;
  std::function<void(const Result&)> failure_call_;
  Stats stats_;
};

}  // namespace iw::dsm
