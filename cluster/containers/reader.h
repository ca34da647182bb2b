// A reader container: the copy, and the functions that bring it up to date. One thread watches the
// writer. Another one evaluates updates, if the options ask for it. So the program's functions,
// which may take long, do not delay the notice of a writer's death.
//
// The copy's mutex is locked before the inbox's. No handler locks it. A queued item is checked
// before it is run, so a damaged or unknown item costs one whole object and no more.
#pragma once

#include <atomic>
#include <thread>

#include "containers/reader_inbox.h"
#include "platform/mutex.h"

namespace iw::containers {

class Reader final : public ActiveReader {
 public:
  // Joins. Throws ContainerError.
  Reader(std::string name, std::shared_ptr<StandardContainer> copy, const FunctionTable& functions,
         const Options& options);
  ~Reader() override;

  void evaluate() override;
  std::mutex& mutex() override { return mutex_.native(); }
  Tie tie() const override { return inbox_->tie(); }
  ReaderStatistics statistics() const override;
  std::unique_ptr<ActiveWriter> take_role(const Options& options) override;
  ReaderInbox& inbox() { return *inbox_; }

 private:
  // *found is the name server's last answer.
  bool join(Clock::time_point deadline, bool waits_for_name, int* found);
  bool try_join(const en_t& writer, Clock::time_point deadline);
  bool fetch_object() IW_REQUIRES(mutex_);
  bool run(const ReaderInbox::Batch& batch) IW_REQUIRES(mutex_);
  bool run_object(const Item& item) IW_REQUIRES(mutex_);
  bool run_update(const Item& item) IW_REQUIRES(mutex_);
  bool ask(int kind, Clock::time_point deadline, Answer* answer);
  void evaluate_in_background();
  void end_threads();
  void watch();
  void follow_role();
  Clock::time_point patience_end() const;

  const std::string name_;
  const std::shared_ptr<StandardContainer> copy_;
  const FunctionTable& functions_;
  const Options options_;
  const std::shared_ptr<ReaderInbox> inbox_;
  Endpoint endpoint_;
  std::atomic<int> writer_index_{-1};
  platform::Mutex asking_;         // so that one question is asked at a time; locked after mutex_
  mutable platform::Mutex mutex_;  // of the copy, and of what follows
  bool is_whole_ IW_GUARDED_BY(mutex_) = false;
  ReaderStatistics statistics_ IW_GUARDED_BY(mutex_);
  std::thread watcher_, evaluator_;
};

}  // namespace iw::containers
