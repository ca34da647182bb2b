#include "dsm/node/node.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "fabric/hash.h"

namespace iw::dsm {

using fabric::Deadline;
using fabric::Exclusion;
using fabric::Status;

namespace {

// All ranks have the same byte order, so the same placements have the same hash.
std::uint64_t hash_of(std::span<const Placement> homes) {
  std::vector<std::uint64_t> numbers;
  for (const Placement& each : homes) {
    numbers.insert(numbers.end(), {each.first, each.count, each.home, each.is_by_turns ? 1u : 0u});
  }
  return fabric::hash(std::as_bytes(std::span(numbers)));
}

}  // namespace

void Node::set_handlers(const Options& options, fabric::Worker& worker, Entries* entries) {
  for (int i = 0; i < message_count; i++) {
    (*entries)[i].kind = static_cast<Message>(i);
    worker.set_handler(static_cast<fabric::MessageId>(i), &Node::on_message, &(*entries)[i]);
  }
  for (const Service& each : options.services) {
    if (each.id >= first_service) worker.set_handler(each.id, each.handler, each.context);
  }
}

std::unique_ptr<Node> Node::start(const Options& options, std::string* error) {
  const MeetingOptions how{
      options.heap,   options.settings_hash,         options.is_direct,
      options.fan_in, options.kept_diffs.are_pulled, fabric::Clock::now() + options.timeout};
  // The worker's handlers look at the entries until it is closed.
  auto entries = std::make_unique<Entries>();
  Meeting meeting;
  if (!meet(how, &meeting, error)) return nullptr;
  set_handlers(options, *meeting.worker, entries.get());
  if (!map_heap(how, &meeting, error) || !connect_all(how, &meeting, error)) return nullptr;
  Meeting last;
  last.me = meeting.me;
  last.rendezvous = std::move(meeting.rendezvous);
  std::unique_ptr<Trace> trace;
  if (!options.trace.empty()) {
    trace = Trace::open(options.trace, meeting.me, meeting.ranks, options.heap.page_bytes, error);
  }
  // All come to this, also those that cannot start.
  if (!agree(how, options.trace.empty() || trace != nullptr, &last, error)) return nullptr;
  std::unique_ptr<Node> node(
      new Node(options, std::move(meeting), std::move(entries), std::move(trace)));
  // Nobody sends before all have a node.
  if (!meet_again(how, &last, error)) return nullptr;
  node->rendezvous_ = std::move(last.rendezvous);
  return node;
}

Node::Node(const Options& options, Meeting meeting, std::unique_ptr<Entries> entries,
           std::unique_ptr<Trace> trace)
    : options_(options),
      me_(meeting.me),
      ranks_(meeting.ranks),
      entries_(std::move(entries)),
      fabric_(std::move(meeting.fabric)),
      worker_(std::move(meeting.worker)),
      heap_(std::move(meeting.heap)),
      tables_(std::move(meeting.tables)),
      pages_of_heap_(heap_->bytes() / heap_->page_bytes()),
      checked_(options.checks_pointers ? std::make_unique<CheckedMemory>(*heap_, me_) : nullptr),
      trace_(std::move(trace)),
      mail_({options.diffs, options.buffer_bytes, options.depth}, me_, *worker_,
            std::move(meeting.peers), *this),
      traced_mail_(mail_, mail_, trace_.get()),
      pages_(me_, ranks_, checked_ ? static_cast<PageMemory&>(*checked_) : *heap_, traced_mail_,
             *this),
      locks_(me_, ranks_, pages_, traced_mail_, *this),
      tree_(BarrierTree::of(ranks_, options.fan_in)),
      barriers_(me_, tree_, pages_, mail_, *this),
      attendance_(me_, *this),
      receiver_(me_, bounds(), heap_->page_bytes(), pages_, locks_, barriers_, attendance_, mail_),
      begun_(ranks_),
      finished_(ranks_),
      is_gone_(ranks_),
      known_(ranks_) {
  const Exclusion exclusion(*worker_);
  pages_.use(tables_.get());
  if (options_.cache_bytes > 0) pages_.limit_copies(options_.cache_bytes / heap_->page_bytes());
  // A replay has one miss after the other.
  if (trace_ != nullptr) pages_.look_at_faults_only();
  pages_.use(options_.kept_diffs, heap_->page_bytes());
  locks_.keep(options_.kept_locks);
  for (Entry& each : *entries_) each.node = this;
  worker_->on_death([this](fabric::PeerId peer) { on_death(peer); });
}

Node::~Node() {
  heap_->watch(nullptr);
  // Its handlers run until it is closed.
  close_worker(&worker_);
}

// The beginning.

bool Node::is_valid(PageNumber end, std::span<const Placement> homes) const {
  return end <= pages_of_heap_ && std::ranges::all_of(homes, [&](const Placement& each) {
           return each.home < ranks_ && each.first <= pages_of_heap_ &&
                  each.count <= pages_of_heap_ - each.first;
         });
}

void Node::place_all(std::span<const Placement> homes) {
  for (const Placement& each : homes) {
    pages_.place(each.first, each.count, each.home, each.is_by_turns);
  }
}

Result Node::begin(std::uint64_t replay_hash, PageNumber end, std::span<const Placement> homes) {
  if (worker_->in_handler()) return {Status::in_handler, me_};
  if (!is_valid(end, homes)) return {Status::bad_argument, me_};
  const std::uint64_t homes_hash = hash_of(homes);
  heap_->watch(this);
  {
    const Exclusion exclusion(*worker_);
    if (failure_) return *failure_;
    if (is_serving_) return {Status::bad_argument, me_};
    const std::vector<PageNumber> written = heap_->end_replay(me_ == 0);
    if (checked_) checked_->check_replay(written);
    pages_.begin(written, end);
    place_all(homes);
    is_serving_ = true;
    if (trace_ != nullptr) trace_->begin();
    note("B", {0});
    JobHead head{};
    head.job = Job::begin;
    head.replay_hash = replay_hash;
    head.end = end;
    head.homes_hash = homes_hash;
    if (me_ != 0) {
      tell_job(0, head);
    } else {
      static_cast<void>(take_begin(0, head));
    }
  }
  const Result result = wait([this] { return has_begun(); });
  note_clock();
  return result;
}

// Pages.

Pages::Touch Node::touch_counted(PageNumber page, Access wanted) {
  const Pages::Touch result = pages_.touch(page, wanted);
  if (result != Pages::Touch::no_memory) return result;
  // The end of the interval drops its twins.
  pages_.end_interval();
  return pages_.touch(page, wanted);
}

Result Node::open_page(PageNumber page, Access wanted) {
  Pages::Touch now{};
  {
    const Exclusion exclusion(*worker_);
    if (failure_) return *failure_;
    stats_.misses++;
    now = touch_counted(page, wanted);
    if (now == Pages::Touch::asked) {
      stats_.fetches++;
      note("M", {page});
    }
  }
  if (now == Pages::Touch::asked) {
    // What another thread learns by a lock may close the page before this thread runs again.
    const auto is_open = [&] { return (now = touch_counted(page, wanted)) != Pages::Touch::asked; };
    const Result result = wait(std::ref(is_open));
    if (!result.is_ok()) return result;
    if (trace_ != nullptr) {
      const Exclusion exclusion(*worker_);
      note("E");
    }
  }
  return {now == Pages::Touch::open ? Status::ok : Status::no_memory, me_};
}

Result Node::touch(PageNumber first, std::size_t count, Access wanted) {
  if (worker_->in_handler()) return {Status::in_handler, me_};
  const bool is_ours = first <= pages_of_heap_ && count <= pages_of_heap_ - first;
  if (!is_ours || !has_begun()) return {Status::bad_argument, me_};
  std::vector<PageNumber> asked;
  {
    const Exclusion exclusion(*worker_);
    if (failure_) return *failure_;
    for (PageNumber page = first; page < first + count; page++) {
      if (pages_.is_open(page, wanted)) continue;
      stats_.misses++;
      const Pages::Touch now = touch_counted(page, wanted);
      if (now == Pages::Touch::no_memory) return {Status::no_memory, me_};
      if (now != Pages::Touch::asked) continue;
      asked.push_back(page);
      note("M", {page});
    }
    stats_.fetches += asked.size();
  }
  // The first one that has come last says that most have come.
  std::size_t opened = 0;
  auto outcome = Pages::Touch::open;
  const Result result = wait([&] {
    while (opened < asked.size()) {
      outcome = touch_counted(asked[opened], wanted);
      if (outcome != Pages::Touch::open) break;
      opened++;
    }
    return outcome != Pages::Touch::asked;
  });
  if (trace_ != nullptr && !asked.empty()) {
    const Exclusion exclusion(*worker_);
    note("E");
  }
  if (result.is_ok() && outcome == Pages::Touch::no_memory) return {Status::no_memory, me_};
  return result;
}

bool Node::on_fault(PageNumber page, Access wanted) {
  if (worker_->in_handler()) {
    std::fprintf(stderr,
                 "interweave: rank %u loads or stores page %llu of the shared heap inside of a "
                 "call that holds the rank's lock. Touch the memory before the call.\n",
                 me_, static_cast<unsigned long long>(page));
    return false;
  }
  const Result result = open_page(page, wanted);
  if (result.is_ok()) return true;
  std::function<void(const Result&)> call;
  {
    const Exclusion exclusion(*worker_);
    call = failure_call_;
  }
  if (call) call(result);
  std::fprintf(stderr,
               "interweave: rank %u cannot continue: page %llu of the shared heap is out of reach, "
               "because of rank %u: %s\n",
               me_, static_cast<unsigned long long>(page), result.rank,
               fabric::to_string(result.status));
  constexpr int out_of_reach = 3;
  std::_Exit(out_of_reach);
}

// Threads look at the page's state. The one that handled the message wakes the others.
void Node::ready(PageNumber) {}

// Waiting and failures.

Result Node::wait(const std::function<bool()>& is_done) {
  Result result;
  if (trace_ != nullptr) trace_->begin_wait();
  const auto is_over = [&] {
    if (is_done()) return true;
    if (failure_) result = *failure_;
    return failure_.has_value();
  };
  // By reference: the function itself would take memory, and a fault waits here.
  const Status status = worker_->wait(std::ref(is_over), Deadline::max());
  if (trace_ != nullptr) trace_->end_wait();
  if (status != Status::ok) return {status, me_};
  return result;
}

Result Node::health() {
  const Exclusion exclusion(*worker_);
  return failure_.value_or(Result{});
}

void Node::fail(const Result& why) { end_job(why, true); }

void Node::end_job(const Result& why, bool is_told) {
  {
    const Exclusion exclusion(*worker_);
    if (failure_ || has_finished_) return;
    failure_ = why;
    if (is_told) {
      JobHead head{};
      head.job = Job::end;
      head.status = static_cast<std::uint32_t>(why.status);
      head.rank = why.rank;
      tell_job_to_others(head);
    }
  }
  wake();
}

void Node::on_failure(std::function<void(const Result&)> call) {
  const Exclusion exclusion(*worker_);
  failure_call_ = std::move(call);
}

void Node::not_sent(Rank to, Status why) { fail({why, to}); }

void Node::tell_job(Rank to, const JobHead& head) {
  mail_.send(to, Message::tell_job, fabric::bytes_of(head), {});
}

void Node::tell_job_to_others(const JobHead& head) {
  for (Rank rank = 0; rank < ranks_; rank++) {
    if (rank != me_ && !is_gone_[rank]) tell_job(rank, head);
  }
}

Result Node::wait_for_room() {
  {
    const Exclusion exclusion(*worker_);
    if (!mail_.is_full()) return {};
  }
  return wait([this] { return !mail_.is_full(); });
}

Result Node::send(Rank to, fabric::MessageId id, fabric::Bytes header, fabric::Bytes payload) {
  if (to >= ranks_ || to == me_ || id < first_service) return {Status::bad_argument, me_};
  const Exclusion exclusion(*worker_);
  if (failure_) return *failure_;
  note("S");
  const Status status = mail_.send_service(to, id, header, payload);
  return {status, status == Status::ok ? me_ : to};
}

Stats Node::stats() {
  const Exclusion exclusion(*worker_);
  Stats stats = stats_;
  stats.mail = mail_.stats();
  stats.pages = pages_.counts();
  stats.twin_bytes = heap_->twin_bytes();
  stats.log_bytes = pages_.log().bytes();
  stats.remembered_locks = locks_.remembered() + local_locks_.size();
  return stats;
}

// The end.

Result Node::finish() {
  if (worker_->in_handler()) return {Status::in_handler, me_};
  {
    const Exclusion exclusion(*worker_);
    if (failure_) return *failure_;
    if (is_finishing_) return {Status::bad_argument, me_};
    is_finishing_ = true;
    if (trace_ != nullptr) trace_->end();
    come(Where::end);
    if (failure_) return *failure_;
    JobHead head{};
    head.job = Job::finish;
    if (me_ != 0) {
      tell_job(0, head);
    } else {
      static_cast<void>(take_finish(0));
    }
  }
  const Result result = wait([this] { return has_finished_; });
  if (!result.is_ok()) return result;
  // [DSM-END-1]
  const auto has_left = [this] {
    if (!mail_.is_idle()) return false;
    if (me_ != 0) return true;
    return std::ranges::count(is_gone_, false) == 1;
  };
  return wait(has_left);
}

void Node::end_waits() {
  {
    const Exclusion exclusion(*worker_);
    if (!failure_) failure_ = {Status::refused, me_};
  }
  wake();
}

}  // namespace iw::dsm
