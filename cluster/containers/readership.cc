#include "containers/readership.h"

#include <algorithm>
#include <utility>

namespace iw::containers {

Readership::Readership(std::shared_ptr<WriterInbox> inbox, Endpoint& endpoint,
                       const Options& options)
    : inbox_(std::move(inbox)), endpoint_(endpoint), options_(options) {}

void Readership::ship(const std::shared_ptr<const Parcel>& update) {
  const platform::MutexLock held(mutex_);
  statistics_.updates++;
  for (ReaderLink& link : links_) {
    link.add_update(update, options_.queue_length);
    send_to(link);
  }
}

void Readership::want_objects() {
  const platform::MutexLock held(mutex_);
  for (ReaderLink& link : links_) {
    if (!link.is_suspended()) link.want_object();
    send_to(link);
  }
}

void Readership::send_object(const std::shared_ptr<const Parcel>& object) {
  const platform::MutexLock held(mutex_);
  for (ReaderLink& link : links_) {
    if (!link.needs_object_now()) continue;
    link.add_object(object);
    statistics_.objects_sent++;
    send_to(link);
  }
}

void Readership::hand_over(int taker, const std::shared_ptr<const Parcel>& object) {
  const platform::MutexLock held(mutex_);
  note(inbox_->take_news());  // so that the readers that joined last are told, too
  for (ReaderLink& link : links_) {
    const bool takes = link.number() == taker;
    if (takes) link.add_object(object);
    link.add(Parcel::empty(takes ? role_is_yours : writer_moved));
    send_to(link);
  }
}

void Readership::end(const std::shared_ptr<const Parcel>& object) {
  const platform::MutexLock held(mutex_);
  for (ReaderLink& link : links_) {
    if (object != nullptr && link.lacks_object()) link.add_object(object);
    link.add(Parcel::empty(writer_ended));
    send_to(link);
  }
}

void Readership::send_to(ReaderLink& link) {
  const bool had_outbox = link.has_outbox();
  statistics_.bytes_sent += link.push(endpoint_);
  if (link.has_outbox() && !had_outbox) inbox_->wake();
  if (link.needs_object_now()) changed_.notify_all();
}

bool Readership::is_object_wanted() const {
  return std::ranges::any_of(links_, &ReaderLink::needs_object_now);
}

bool Readership::wants_object_now() const {
  const platform::MutexLock held(mutex_);
  return is_object_wanted();
}

bool Readership::wait_until_object_wanted() {
  const platform::MutexLock held(mutex_);
  while (!is_stopped_ && !is_object_wanted()) changed_.wait(mutex_);
  return !is_stopped_;
}

void Readership::stop() {
  const platform::MutexLock held(mutex_);
  is_stopped_ = true;
  changed_.notify_all();
}

bool Readership::lacks_objects() const {
  const platform::MutexLock held(mutex_);
  return std::ranges::any_of(links_, &ReaderLink::lacks_object);
}

bool Readership::has(int link) const {
  const platform::MutexLock held(mutex_);
  return std::ranges::find(links_, link, &ReaderLink::number) != links_.end();
}

void Readership::let_in(int link, const en_t& reader) {
  const platform::MutexLock held(mutex_);
  add({link, reader});
}

void Readership::add(const WriterInbox::Joiner& joiner) {
  const int index = endpoint_.map(joiner.name);
  if (index < 0) return;
  inbox_->open(joiner.link);
  links_.emplace_back(joiner.link, index, options_.life_ms);
}

void Readership::note(const WriterInbox::News& news) {
  for (const auto& joiner : news.joining) add(joiner);
  for (const int number : news.gone) drop(number);
  for (const int number : news.leaving) drop(number);
  for (const auto& [number, sequence] : news.full) {
    if (ReaderLink* link = find(number)) link->suspend(sequence);
  }
  for (const int number : news.wanting) {
    if (ReaderLink* link = find(number)) link->want_object();
  }
  for (const auto& [number, answers] : news.answers) {
    if (ReaderLink* link = find(number)) link->note_answers(answers);
  }
}

void Readership::catch_up() {
  note(inbox_->take_news());
  for (ReaderLink& link : links_) send_to(link);
  if (is_awaited_ && have_all_answered()) changed_.notify_all();
}

void Readership::pass(Clock::time_point now) {
  const platform::MutexLock held(mutex_);
  catch_up();
  for (ReaderLink& link : links_) link.ping_if_quiet(endpoint_, now, options_.ping_ms);
  drop_the_dead(now);
}

// If the thread that serves was itself stopped, answers may wait unread. So the time in which it
// did not run counts against no reader.
void Readership::drop_the_dead(Clock::time_point now) {
  const bool was_away = now - last_pass_ > std::chrono::milliseconds(options_.life_ms) / 2;
  last_pass_ = now;
  drop_if([&](ReaderLink& link) {
    if (was_away) link.forgive(now);
    return link.is_cut_off() || link.is_dead(now);
  });
}

void Readership::drop_if(const std::function<bool(ReaderLink&)>& is_gone) {
  std::vector<int> gone;
  for (ReaderLink& link : links_) {
    if (is_gone(link)) gone.push_back(link.number());
  }
  for (const int number : gone) drop(number);
}

ReaderLink* Readership::find(int number) {
  const auto found = std::ranges::find(links_, number, &ReaderLink::number);
  return found == links_.end() ? nullptr : &*found;
}

void Readership::drop(int number) {
  const ReaderLink* link = find(number);
  if (link == nullptr) return;
  endpoint_.unmap(link->index());
  inbox_->close(number);
  std::erase_if(links_, [&](const ReaderLink& each) { return each.number() == number; });
  changed_.notify_all();  // await_answers() may wait for this reader alone
}

bool Readership::wants_answers() const {
  const platform::MutexLock held(mutex_);
  return is_awaited_ || std::ranges::any_of(links_, &ReaderLink::has_outbox);
}

bool Readership::have_all_answered() const {
  return std::ranges::all_of(links_, &ReaderLink::has_answered_all);
}

void Readership::await_answers(Clock::time_point deadline) {
  const platform::MutexLock held(mutex_);
  is_awaited_ = true;
  inbox_->wake();
  catch_up();
  while (!have_all_answered() && changed_.wait_until(mutex_, deadline)) {
  }
  is_awaited_ = false;
}

WriterStatistics Readership::statistics() {
  const platform::MutexLock held(mutex_);
  catch_up();
  const auto count = [&](const auto& is_so) {
    mutex_.assert_held();
    return static_cast<std::size_t>(std::ranges::count_if(links_, is_so));
  };
  WriterStatistics result = statistics_;
  result.readers = links_.size();
  result.readers_behind = count(&ReaderLink::is_suspended);
  result.readers_waited_for = links_.size() - count(&ReaderLink::has_answered_all);
  return result;
}

}  // namespace iw::containers
