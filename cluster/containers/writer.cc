#include "containers/writer.h"

#include <algorithm>
#include <functional>

namespace iw::containers {
namespace {

Options sound(Options options) {
  options.ping_ms = std::max(options.ping_ms, 1);
  options.life_ms = std::max(options.life_ms, 2 * options.ping_ms);
  return options;
}

}  // namespace

Writer::Writer(std::string name, std::shared_ptr<StandardContainer> object, const Options& options)
    : name_(std::move(name)),
      object_(std::move(object)),
      options_(sound(options)),
      inbox_(std::make_shared<WriterInbox>()),
      endpoint_(inbox_, 0) {
  inbox_->set_giving(options.gives_role);
  const int result = AMNS_Register(name_.c_str(), endpoint_.name());
  if (result != AM_OK) throw ContainerError("the name " + name_ + ": " + AM_StrError(result));
  server_ = std::thread(&Writer::serve, this);
  doorkeeper_ = std::thread(&Writer::let_in, this);
}

Writer::~Writer() {
  inbox_->set_joining(false);
  inbox_->set_giving(false);
  inbox_->stop();
  server_.join();
  doorkeeper_.join();
  if (role_ == Role::kept) AMNS_Unregister(name_.c_str());
  say_goodbye();
}

// Readers that were sent nothing lately get the last state first; who they are is known when all
// have answered.
void Writer::say_goodbye() {
  const auto deadline = Clock::now() + std::chrono::milliseconds(options_.life_ms);
  settle(deadline);
  for (ReaderLink& link : links_) {
    if (link.lacks_object()) link.add_object(snapshot());
    link.add(Parcel::empty(writer_ended));
  }
  settle(deadline);
}

// Until every reader has answered all it was sent, or then.
void Writer::settle(Clock::time_point deadline) {
  for (;;) {
    for (ReaderLink& link : links_) send_to(link);
    drop_if(std::mem_fn(&ReaderLink::is_cut_off));
    if (is_settled() || Clock::now() >= deadline) return;
    note(inbox_->take_news(deadline, true));
  }
}

bool Writer::is_settled() const {
  return std::ranges::all_of(links_, [&](const ReaderLink& each) {
    return each.is_settled(inbox_->answers(each.number()));
  });
}

bool Writer::has_outbox() const { return std::ranges::any_of(links_, &ReaderLink::has_outbox); }

bool Writer::is_writer() const {
  const std::lock_guard held(mutex_);
  return role_ == Role::kept;
}

WriterStatistics Writer::statistics() const {
  const std::lock_guard held(mutex_);
  WriterStatistics result = statistics_;
  result.readers = links_.size();
  result.readers_behind =
      static_cast<std::size_t>(std::ranges::count_if(links_, &ReaderLink::is_suspended));
  return result;
}

void Writer::ship(const FunctionTable::Number* function, const Marshal& arguments,
                  const std::function<void()>& call) {
  const std::lock_guard held(mutex_);
  if (role_ != Role::kept)
    throw ContainerError("the writer's role of " + name_ + " was given away");
  const auto parcel = std::make_shared<Parcel>();
  if (function != nullptr) {
    parcel->kind = function->number;
    parcel->signature = function->signature;
    MarshalStream stream([&](std::vector<std::byte> buffer) { parcel->add(std::move(buffer)); });
    if (!arguments(stream)) throw ContainerError("an argument cannot be marshalled");
    stream.finish();
  }
  snapshot_ = nullptr;
  try {
    call();
  } catch (...) {
    want_objects();  // readers are not to make the same half of a call
    throw;
  }
  if (function == nullptr) return want_objects();
  statistics_.updates++;
  for (ReaderLink& link : links_) {
    link.add_update(parcel, options_.queue_length);
    send_to(link);
  }
}

void Writer::want_objects() {
  for (ReaderLink& link : links_) {
    if (!link.is_suspended()) link.want_object();
    send_to(link);
  }
}

std::shared_ptr<const Parcel> Writer::snapshot() {
  if (snapshot_ != nullptr) return snapshot_;
  const auto parcel = std::make_shared<Parcel>();
  parcel->kind = whole_object;
  MarshalStream stream([&](std::vector<std::byte> buffer) { parcel->add(std::move(buffer)); });
  bool is_marshalled = false;
  try {
    is_marshalled = object_->Marshal(&stream) == OBJ_RETURN_SUCCESS;
  } catch (const std::exception&) {
    // As one that says that it failed: this may be the server's thread, which has no caller.
  }
  stream.finish();
  // What cannot be marshalled is sent as nothing, which readers cannot read, and say so.
  return snapshot_ = is_marshalled ? parcel : Parcel::empty(whole_object);
}

void Writer::send_to(ReaderLink& link) {
  const bool had_outbox = link.has_outbox();
  link.note_answers(inbox_->answers(link.number()));
  statistics_.bytes_sent += link.push(endpoint_);
  if (link.needs_object_now()) {
    link.add_object(snapshot());
    statistics_.objects_sent++;
    statistics_.bytes_sent += link.push(endpoint_);
  }
  if (link.has_outbox() && !had_outbox) inbox_->wake();
}

ReaderLink* Writer::find(int number) {
  const auto found = std::ranges::find(links_, number, &ReaderLink::number);
  return found == links_.end() ? nullptr : &*found;
}

void Writer::drop(int number) {
  const ReaderLink* link = find(number);
  if (link == nullptr) return;
  endpoint_.unmap(link->index());
  inbox_->close(number);
  std::erase_if(links_, [&](const ReaderLink& each) { return each.number() == number; });
}

void Writer::serve() {
  const auto tick = std::chrono::milliseconds(std::max(options_.ping_ms / 2, 1));
  bool wants_answers = false;
  while (!inbox_->is_stopped()) {
    const auto news = inbox_->take_news(Clock::now() + tick, wants_answers);
    hear(news);
    const std::lock_guard held(mutex_);
    pass(Clock::now());
    wants_answers = has_outbox();
  }
}

void Writer::note(const WriterInbox::News& news) {
  for (const int number : news.gone) drop(number);
  for (const int number : news.leaving) drop(number);
  for (const auto& [number, sequence] : news.full) {
    if (ReaderLink* link = find(number)) link->suspend(sequence);
  }
  for (const int number : news.wanting) {
    if (ReaderLink* link = find(number)) link->want_object();
  }
}

// The name server is asked without the mutex: it may let one wait for long.
void Writer::hear(const WriterInbox::News& news) {
  std::unique_lock held(mutex_);
  note(news);
  const bool is_left = is_role_left(news.is_role_taken, Clock::now());
  const bool gives = begin_giving(news.role_wanted_by);
  held.unlock();
  if (is_left) take_role_back();
  if (gives) give_role(news.role_wanted_by);
}

void Writer::pass(Clock::time_point now) {
  for (ReaderLink& link : links_) {
    send_to(link);
    link.ping_if_quiet(endpoint_, now, options_.ping_ms);
  }
  drop_the_dead(now);
}

// If this thread itself was stopped, answers wait unread: nobody is judged by that time.
void Writer::drop_the_dead(Clock::time_point now) {
  const bool was_away = now - last_pass_ > std::chrono::milliseconds(options_.life_ms) / 2;
  last_pass_ = now;
  drop_if([&](ReaderLink& link) {
    if (was_away) link.forgive(now);
    return link.is_cut_off() || link.is_dead(inbox_->answers(link.number()), now);
  });
}

void Writer::drop_if(const std::function<bool(ReaderLink&)>& is_gone) {
  std::vector<int> gone;
  for (ReaderLink& link : links_) {
    if (is_gone(link)) gone.push_back(link.number());
  }
  for (const int number : gone) drop(number);
}

void Writer::let_in() {
  WriterInbox::Joiner joiner;
  while (inbox_->wait_for_joiner(&joiner)) {
    const int index = endpoint_.map(joiner.name);  // waits for the other: so not in serve()
    if (index < 0) continue;
    const std::lock_guard held(mutex_);
    inbox_->open(joiner.link);
    links_.emplace_back(joiner.link, index, options_.life_ms);
    send_to(links_.back());
  }
}

// Whether that reader may have the role: calls are refused from now on.
bool Writer::begin_giving(int taker) {
  if (taker == 0 || role_ != Role::kept || find(taker) == nullptr) return false;
  role_ = Role::being_given;
  inbox_->set_joining(false);
  inbox_->set_giving(false);
  return true;
}

void Writer::give_role(int taker) {
  AMNS_Unregister(name_.c_str());
  const std::lock_guard held(mutex_);
  role_deadline_ = Clock::now() + 2 * std::chrono::milliseconds(options_.life_ms);
  for (ReaderLink& link : links_) {
    if (link.number() == taker) link.add_object(snapshot());
    link.add(Parcel::empty(link.number() == taker ? role_is_yours : writer_moved));
  }
}

// Whether who was to have the role has let its time pass.
bool Writer::is_role_left(bool is_taken, Clock::time_point now) {
  if (role_ != Role::being_given) return false;
  if (is_taken) role_ = Role::given;
  return !is_taken && now >= role_deadline_;
}

void Writer::take_role_back() {
  const bool is_kept = AMNS_Register(name_.c_str(), endpoint_.name()) == AM_OK;
  const std::lock_guard held(mutex_);
  role_ = is_kept ? Role::kept : Role::given;
  inbox_->set_joining(is_kept);
  inbox_->set_giving(is_kept && options_.gives_role);
}

std::unique_ptr<ActiveWriter> start_writer(const std::string& name,
                                           std::shared_ptr<StandardContainer> object,
                                           const Options& options) {
  return std::make_unique<Writer>(name, std::move(object), options);
}

}  // namespace iw::containers
