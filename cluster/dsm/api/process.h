// This process's part in a job with shared memory: the node, the blocks, the services, and the
// replay until the first barrier. The calls of <interweave/dsm.h> end here, with their arguments
// checked and their errors in words.
//
// Locks: `mutex_` guards the allocator and the replay. A fault may happen with it held, because
// headers of blocks lie in the heap; so no handler takes it. The services are guarded by the
// worker's exclusion, under which nobody touches the heap.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>

#include "dsm/api/allocator.h"
#include "dsm/api/quiet_output.h"
#include "dsm/api/replay.h"
#include "dsm/node/node.h"
#include "dsm/services/services.h"
#include "interweave/dsm.h"
#include "platform/mutex.h"

namespace iw::dsm {

// 0, or a DSM_E... and perhaps more words.
struct Failure {
  int error = 0;
  std::string text{};
};

class Process final : ServiceMail, BlockHeaders {
 public:
  static std::unique_ptr<Process> start(const dsm_options& given, Failure* failure);
  ~Process() override;

  int rank() const { return node_->rank(); }
  int ranks() const { return node_->ranks(); }
  // The rank whose death or error ended the job, or -1.
  int dead_rank();

  void* allocate(std::size_t bytes, Failure* failure);
  Failure free(void* block);
  Failure place(const void* address, std::size_t bytes, dsm_placement placement, int rank);
  Failure touch(const void* address, std::size_t bytes, bool will_store);

  Failure lock(std::uint64_t lock);
  Failure try_lock(std::uint64_t lock);
  Failure unlock(std::uint64_t lock);
  Failure barrier(std::uint64_t barrier);
  Failure finish();
  // Behind finish(): calls of other threads that wait return DSM_ENOTINIT.
  void end_calls() { node_->end_waits(); }

  Failure await(std::uint64_t condition, std::uint64_t lock);
  Failure signal(std::uint64_t condition, bool wakes_all);
  Failure take(std::uint64_t semaphore);
  Failure post(std::uint64_t semaphore);
  Failure add(std::uint64_t counter, std::int64_t value, std::int64_t* before);
  // Bytes that this rank gives, and as many that all get.
  Failure run_round(const Round& round, std::span<std::byte> bytes);

  dsm_statistics read_statistics(bool resets);
  void on_failure(dsm_failure_handler handler, void* context);

 private:
  Process() = default;

  // ServiceMail
  void send(Rank to, const ServiceHead& head, std::span<const std::byte> payload) override;
  // BlockHeaders
  BlockHeader load(HeapAddress at) override;
  void store(HeapAddress at, const BlockHeader& header) override;

  static void on_service(void* context, const fabric::Message& message);
  bool start_node(const dsm_options& given, Failure* failure);
  Failure begin(std::uint64_t barrier);
  // `wrong`: what it means that the program is wrong.
  Failure failure_of(const Result& result, int wrong);
  Failure end_of_job(const Result& result) const;
  Failure acquire(LockId lock);
  // Calls before the first barrier. They look again whether it is still to come once they have the
  // mutex, with which it ends the replay. Nothing, false: it has ended, and nothing was done.
  std::optional<Failure> lock_early(LockId lock);
  bool add_early(std::uint64_t counter, std::uint64_t added, std::uint64_t* before);
  bool post_early(std::uint64_t semaphore);
  // Asks, by a call of the services, and waits for the answer.
  template <typename Ask>
  Failure ask(Ask ask, std::uint64_t* value);
  bool pages_of(const void* address, std::size_t bytes, PageNumber* first,
                std::size_t* count) const;

  std::unique_ptr<Node> node_;
  std::unique_ptr<Services> services_;
  QuietOutput quiet_output_;

  platform::Mutex mutex_;
  std::optional<Allocator> allocator_ IW_GUARDED_BY(mutex_);
  Replay replay_ IW_GUARDED_BY(mutex_);
  // Locks that threads hold before the first barrier.
  std::unordered_map<LockId, std::thread::id> early_locks_ IW_GUARDED_BY(mutex_);

  std::atomic<bool> is_in_round_{false};
  std::atomic<std::uint64_t> lock_wait_ns_{0};
  std::atomic<std::uint64_t> barrier_wait_ns_{0};
  platform::Mutex statistics_mutex_;
  dsm_statistics at_reset_ IW_GUARDED_BY(statistics_mutex_){};
};

}  // namespace iw::dsm
