// A selection in parallel: the coordinator writes the question into a segment, workers, which are
// processes of their own, look at a share of the records each and write what they found into the
// coordinator's memory, where it is put together in the order of ids.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "program/child_processes.h"
#include "select_records/source.h"

namespace select_records {

enum class Way : std::uint64_t { kSegments, kSockets };

struct Question {
  enum class What : std::uint64_t { kSelect, kEnd } what;
  Way way;
  Condition condition;
};

// The start parameters of a worker: keys of segments with the coordinator.
struct WorkerTask {
  ddss_key_t question, result;
  std::size_t index, workers;
  std::vector<std::string> words() const;
  static WorkerTask read(const services::Arguments& arguments);
};

// Answers questions until it is told to end.
void run_worker(const WorkerTask& task);

class Selection {
 public:
  // Starts the workers: this many processes of `program worker ...`.
  Selection(const std::string& program, std::size_t workers, const command_line::StopSignal& stop);
  ~Selection();
  Selection(const Selection&) = delete;
  Selection& operator=(const Selection&) = delete;
  std::uint64_t records() const { return records_of(parts_); }
  // The records for which the condition holds, in the order of ids.
  std::vector<Record> select(const Condition& condition, Way way);
  // That results of so many records need, however they are shared out.
  static std::size_t pool_bytes(std::uint64_t records);

 private:
  void await_results();
  void read_result(ddss_key_t key, std::vector<Record>* found) const;

  const std::vector<Part> parts_ = DataSet().parts();
  const services::Segment<Question> question_;
  std::vector<ddss_key_t> results_;
  std::uint64_t asked_ = 0;  // results' versions follow it; the first is the workers' greeting
  const command_line::StopSignal& stop_;
  services::ChildProcesses workers_;
};

}  // namespace select_records
