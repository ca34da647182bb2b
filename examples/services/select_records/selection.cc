#include "select_records/selection.h"

#include <algorithm>
#include <cstring>

#include "space/patience.h"

namespace select_records {
namespace {

using services::Failure;
using services::Patience;
using services::Segment;

// A result: a count, then so many records.
std::size_t result_bytes(std::uint64_t records) {
  return sizeof(std::uint64_t) + records * sizeof(Record);
}

std::vector<Block> share_of(const std::vector<Block>& blocks, const WorkerTask& task) {
  std::vector<Block> mine;
  for (std::size_t i = task.index; i < blocks.size(); i += task.workers) mine.push_back(blocks[i]);
  return mine;
}

// The most that a worker can find.
std::uint64_t records_of(const std::vector<Block>& blocks) {
  std::uint64_t count = 0;
  for (const Block& block : blocks) count += block.count;
  return count;
}

// Writes what it finds behind the count.
class Worker {
 public:
  explicit Worker(const WorkerTask& task)
      : task_(task),
        parts_(DataSet().parts()),
        blocks_(share_of(blocks_of(parts_, task.workers), task)),
        result_(result_bytes(records_of(blocks_))) {}

  void greet() { put_result(0); }

  void answer(const Question& question) {
    Source& source = source_for(question.way);
    source.announce(blocks_);
    std::uint64_t found = 0;
    for (const Block& block : blocks_) {
      read_.resize(block.count);
      source.read(block, read_);
      for (const Record& record : read_) {
        if (!question.condition.holds(record)) continue;
        std::memcpy(result_.data() + result_bytes(found++), &record, sizeof record);
      }
    }
    put_result(found);
  }

 private:
  Source& source_for(Way way) {
    auto& source = way == Way::kSegments ? segments_ : sockets_;
    if (source == nullptr && way == Way::kSegments)
      source = std::make_unique<SegmentSource>(parts_);
    if (source == nullptr) source = std::make_unique<SocketSource>(parts_);
    return *source;
  }
  void put_result(std::uint64_t found) {
    std::memcpy(result_.data(), &found, sizeof found);
    services::check(ddss_put(task_.result, result_.data(), result_bytes(found)),
                    "giving the result");
  }

  const WorkerTask task_;
  const std::vector<Part> parts_;
  const std::vector<Block> blocks_;
  std::vector<std::byte> result_;
  std::vector<Record> read_;
  std::unique_ptr<Source> segments_, sockets_;
};

}  // namespace

std::vector<std::string> WorkerTask::words() const {
  return {"worker", std::to_string(question), std::to_string(result), std::to_string(index),
          std::to_string(workers)};
}

WorkerTask WorkerTask::read(const services::Arguments& arguments) {
  if (arguments.words().size() != 5) throw services::Misuse{"workers are started by `select`"};
  const std::uint64_t any = UINT64_MAX;
  return {arguments.word_as_number(1, 1, any), arguments.word_as_number(2, 1, any),
          arguments.word_as_number(3, 0, any), arguments.word_as_number(4, 1, any)};
}

void run_worker(const WorkerTask& task) {
  const Segment<Question> asked(task.question);
  Worker worker(task);
  worker.greet();
  Question question{};
  for (std::uint64_t version = 0; question.what != Question::What::kEnd;) {
    for (Patience patience; !asked.get_if_newer(&question, &version);) patience.pause();
    if (question.what == Question::What::kSelect) worker.answer(question);
  }
}

std::size_t Selection::pool_bytes(std::uint64_t records) {
  return result_bytes(records) + services::Space::pool_bytes_default;
}

Selection::Selection(const std::string& program, std::size_t workers,
                     const command_line::StopSignal& stop)
    : question_(Segment<Question>::here(DDSS_VERSION)), stop_(stop) {
  if (records() == 0)
    throw Failure("the catalogue has no records; start `select-records data` first");
  const auto blocks = blocks_of(parts_, workers);
  for (std::size_t index = 0; index < workers; index++) {
    WorkerTask task{question_.key(), 0, index, workers};
    const std::size_t room = result_bytes(records_of(share_of(blocks, task)));
    task.result = services::allocate_here(room, DDSS_VERSION);
    results_.push_back(task.result);
    auto words = task.words();
    words.insert(words.end(), {"--join", ddss_address()});
    workers_.start(program, words);
  }
  await_results();
}

Selection::~Selection() {
  try {
    Question end{};
    end.what = Question::What::kEnd;
    question_.put(end);
    workers_.await_end(stop_);
    for (const ddss_key_t key : results_) ddss_release(key);
    ddss_release(question_.key());
  } catch (...) {
    // They are killed, and this process's memory is given back at its end.
  }
}

std::vector<Record> Selection::select(const Condition& condition, Way way) {
  question_.put({Question::What::kSelect, way, condition});
  asked_++;
  await_results();
  std::vector<Record> found;
  for (const ddss_key_t key : results_) read_result(key, &found);
  std::sort(found.begin(), found.end(),
            [](const Record& one, const Record& other) { return one.id < other.id; });
  return found;
}

void Selection::await_results() {
  for (const ddss_key_t key : results_) {
    std::uint64_t version = 0;
    for (Patience patience;; patience.pause()) {
      services::check(ddss_version(key, &version), "waiting for a worker");
      if (version > asked_) break;
      if (stop_.requested()) throw services::Interrupted();
      workers_.check_alive();
    }
  }
}

void Selection::read_result(ddss_key_t key, std::vector<Record>* found) const {
  std::uint64_t count = 0;
  services::check(ddss_get(key, &count, sizeof count), "reading a result");
  if (count > records()) throw Failure("a worker says that it found more records than there are");
  const std::size_t before = found->size();
  found->resize(before + count);
  services::check(ddss_get_at(key, sizeof count, found->data() + before, count * sizeof(Record)),
                  "reading a result");
}

}  // namespace select_records
