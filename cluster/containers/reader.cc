#include "containers/reader.h"

#include <algorithm>
#include <random>
#include <system_error>

namespace iw::containers {
namespace {

constexpr int attempts_max = 3;  // at a whole object that can be read
constexpr std::chrono::milliseconds name_retry{10};

int random_link() {
  std::random_device device;
  return std::uniform_int_distribution<int>(1)(device);
}

// `found` is the name server's last answer.
std::string why_not_joined(const std::string& name, int found) {
  switch (found) {
    case AM_OK:
      return "the writer of the container " + name + " does not answer";
    case AM_ERR_RESOURCE:
      return "the container " + name + " has no writer";
    case AM_ERR_NOT_SENT:
      return "the name server does not answer which process writes the container " + name;
    default:
      return "the name " + name + ": " + AM_StrError(found);
  }
}

bool apply_standard(int kind, StandardContainer& to, DeMarshalStream& arguments) {
  Ref first, second;
  if (!demarshal(arguments, &first) || !demarshal(arguments, &second) || arguments.left() != 0) {
    return false;
  }
  if (kind == insert_number.number) {
    to.Insert(first, second);
  } else if (kind == delete_number.number) {
    to.Delete(first, second);
  } else if (kind == clear_number.number) {
    to.Clear();
  } else {
    return false;
  }
  return true;
}

}  // namespace

Reader::Reader(std::string name, std::shared_ptr<StandardContainer> copy,
               const FunctionTable& functions, const Options& options)
    : name_(std::move(name)),
      copy_(std::move(copy)),
      functions_(functions),
      options_(options),
      inbox_(std::make_shared<ReaderInbox>(options)),
      endpoint_(inbox_, options.join_ms / 1000.0) {
  int found = AM_OK;
  if (!join(patience_end(), false, &found)) throw ContainerError(why_not_joined(name_, found));
  try {
    watcher_ = std::thread(&Reader::watch, this);
    if (options_.evaluates_in_background) {
      evaluator_ = std::thread(&Reader::evaluate_in_background, this);
    }
  } catch (const std::system_error& error) {
    end_threads();
    throw ContainerError("no thread can be started for the container " + name_ + ": " +
                         error.what());
  }
}

void Reader::end_threads() {
  inbox_->stop();
  if (watcher_.joinable()) watcher_.join();
  if (evaluator_.joinable()) evaluator_.join();
}

Reader::~Reader() {
  end_threads();
  if (inbox_->tie() != Tie::joined) return;
  Answer answer;
  ask(leave, Clock::now() + std::chrono::milliseconds(inbox_->life_ms()), &answer);
}

Clock::time_point Reader::patience_end() const {
  return Clock::now() + std::chrono::milliseconds(options_.join_ms);
}

bool Reader::join(Clock::time_point deadline, bool waits_for_name, int* found) {
  while (!inbox_->is_stopped()) {
    en_t writer;
    *found = AMNS_Lookup(name_.c_str(), &writer);
    if (*found == AM_OK && try_join(writer, deadline)) return true;
    waits_for_name = waits_for_name || inbox_->tie() == Tie::moving;
    const bool may_appear = *found == AM_OK || waits_for_name;
    if (!may_appear || Clock::now() > deadline) return false;
    inbox_->wait_until_stopped(Clock::now() + name_retry);
  }
  return false;
}

bool Reader::try_join(const en_t& writer, Clock::time_point deadline) {
  const int index = endpoint_.map(writer, deadline);
  if (index < 0) return false;
  Head head;
  head.link = random_link();
  head.kind = containers::join;
  inbox_->start(head.link);
  const bool is_joined = endpoint_.send(index, head, {}) && inbox_->wait_for_object(deadline);
  const int old = is_joined ? writer_index_.exchange(index) : index;
  if (old >= 0) endpoint_.unmap(old);
  return is_joined;
}

bool Reader::ask(int kind, Clock::time_point deadline, Answer* answer) {
  const platform::MutexLock held(asking_);
  Head head;
  head.link = inbox_->link();
  head.kind = kind;
  head.sequence = inbox_->expect_answer();
  return endpoint_.send(writer_index_, head, {}) && inbox_->wait_for_answer(deadline, answer);
}

// False: no whole object will come.
bool Reader::fetch_object() {
  if (inbox_->tie() != Tie::joined) return false;
  const auto deadline = patience_end();
  Answer answer;
  if (!ask(want_object, deadline, &answer)) return false;
  if (answer != Answer::ok && inbox_->tie() == Tie::joined) inbox_->set_tie(Tie::broken);
  return answer == Answer::ok && inbox_->wait_for_object(deadline);
}

void Reader::evaluate() {
  mutex_.assert_held();
  if (options_.polls_when_read) endpoint_.poll();
  for (int attempt = 0; attempt < attempts_max; attempt++) {
    const bool is_last = inbox_->is_behind() && !fetch_object();
    if (run(inbox_->take_batch())) break;
    inbox_->fall_behind();
    statistics_.recoveries++;
    if (is_last) break;
  }
  if (!is_whole_) throw ContainerError("no whole copy of the container " + name_ + " has arrived");
}

bool Reader::run(const ReaderInbox::Batch& batch) {
  if (batch.object && !run_object(*batch.object)) return false;
  return std::ranges::all_of(batch.updates, [&](const Item& each) {
    mutex_.assert_held();
    return run_update(each);
  });
}

bool Reader::run_object(const Item& item) {
  if (!item.is_undamaged()) return false;
  is_whole_ = false;
  try {
    DeMarshalStream stream(item.buffers);
    // An object of another class is detected by its length, which is seldom the same.
    is_whole_ = copy_->DeMarshal(&stream) == OBJ_RETURN_SUCCESS && stream.left() == 0;
  } catch (const std::exception&) {
    return false;
  }
  statistics_.objects_evaluated++;
  return is_whole_;
}

bool Reader::run_update(const Item& item) {
  if (!item.is_undamaged()) return false;
  try {
    DeMarshalStream stream(item.buffers);
    const bool is_run = item.head.kind < 0
                            ? apply_standard(item.head.kind, *copy_, stream)
                            : functions_.apply(item.head.kind, item.head.signature, *copy_, stream);
    statistics_.updates_evaluated += is_run;
    return is_run;
  } catch (const std::exception&) {
    is_whole_ = false;  // the function may have made half of its changes
    return false;
  }
}

ReaderStatistics Reader::statistics() const {
  const platform::MutexLock held(mutex_);
  ReaderStatistics result = statistics_;
  result.queued = inbox_->queued();
  result.pings = inbox_->pings();
  return result;
}

void Reader::evaluate_in_background() {
  while (inbox_->wait_for_work()) {
    const platform::MutexLock held(mutex_);
    try {
      evaluate();
    } catch (const ContainerError&) {
      // The next read throws the error again.
    }
  }
}

// If this thread was itself stopped (by a signal, or a busy machine), it did not listen meanwhile.
// So the writer's silence counts from the time when the thread continued.
void Reader::watch() {
  auto last = Clock::now();
  while (!inbox_->is_stopped()) {
    const auto life = std::chrono::milliseconds(inbox_->life_ms());
    if (inbox_->wait_for_move(Clock::now() + life / 8)) follow_role();
    const auto now = Clock::now();
    if (now - last > life / 2) inbox_->hear();
    if (inbox_->is_writer_silent(now)) inbox_->set_tie(Tie::broken);
    last = now;
  }
}

void Reader::follow_role() {
  int found = AM_OK;
  if (!join(patience_end(), true, &found)) inbox_->set_tie(Tie::broken);
}

std::unique_ptr<ActiveWriter> Reader::take_role(const Options& options) {
  Answer answer;
  if (inbox_->tie() != Tie::joined || !ask(want_role, patience_end(), &answer)) return nullptr;
  if (answer != Answer::ok || !inbox_->wait_for_role(patience_end())) return nullptr;
  try {
    {
      const platform::MutexLock held(mutex_);
      evaluate();
    }
    auto writer = start_writer(name_, copy_, options);
    ask(role_taken, Clock::now() + std::chrono::milliseconds(inbox_->life_ms()), &answer);
    return writer;
  } catch (const ContainerError&) {
    inbox_->set_tie(Tie::moving);  // the writer that gave the role takes it back
    return nullptr;
  }
}

std::unique_ptr<ActiveReader> start_reader(const std::string& name,
                                           std::shared_ptr<StandardContainer> copy,
                                           const FunctionTable& functions, const Options& options) {
  return std::make_unique<Reader>(name, std::move(copy), functions, options);
}

}  // namespace iw::containers
