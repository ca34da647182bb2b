#include "containers/writer.h"

#include <algorithm>
#include <system_error>

namespace iw::containers {
namespace {

constexpr std::chrono::milliseconds name_retry{50};  // a call to a live server waits, too

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
      endpoint_(inbox_, 0),
      held_name_(name_, endpoint_.name()),
      readers_(inbox_, endpoint_, options_) {
  inbox_->set_giving(options.gives_role);
  const int result = held_name_.take();
  if (result != AM_OK) throw ContainerError("the name " + name_ + ": " + AM_StrError(result));
  try {
    server_ = std::thread(&Writer::serve, this);
    marshaller_ = std::thread(&Writer::marshal_objects, this);
    giver_ = std::thread(&Writer::give_roles, this);
  } catch (const std::system_error& error) {
    held_name_.give_up();
    end_threads();
    throw ContainerError("no thread can be started for the container " + name_ + ": " +
                         error.what());
  }
}

void Writer::end_threads() {
  inbox_->stop();
  readers_.stop();
  if (server_.joinable()) server_.join();
  if (marshaller_.joinable()) marshaller_.join();
}

// Readers are served until they have the object's last state.
Writer::~Writer() {
  inbox_->close_door();
  giver_.join();
  held_name_.give_up();
  say_goodbye();
  end_threads();
}

// Sends the last state to readers that lack it. Which readers lack it is known only when all have
// answered, so this waits before and after.
void Writer::say_goodbye() {
  const auto deadline = Clock::now() + std::chrono::milliseconds(options_.life_ms);
  readers_.await_answers(deadline);
  {
    const platform::MutexLock held(mutex_);
    readers_.end(readers_.lacks_objects() ? snapshot() : nullptr);
  }
  readers_.await_answers(deadline);
}

void Writer::ship(const FunctionTable::Number* function, const Marshal& arguments,
                  const std::function<void()>& call) {
  const platform::MutexLock held(mutex_);
  if (!is_writer()) throw ContainerError(why_no_writer());
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
    readers_.want_objects();  // because a reader must not make the call's half again
    send_objects();
    throw;
  }
  if (function != nullptr) {
    readers_.ship(parcel);
  } else {
    readers_.want_objects();
  }
  send_objects();
}

// REQUIRES: the mutex is held.
void Writer::send_objects() {
  if (readers_.wants_object_now()) readers_.send_object(snapshot());
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
    // Counts as a failure, because this thread may have no caller that could catch.
  }
  stream.finish();
  // An object that cannot be marshalled is sent without a body. Readers cannot read that, and
  // report it.
  return snapshot_ = is_marshalled ? parcel : Parcel::empty(whole_object);
}

void Writer::serve() {
  const auto tick = std::chrono::milliseconds(std::max(options_.ping_ms / 2, 1));
  while (!inbox_->is_stopped()) {
    inbox_->wait_for_news(Clock::now() + tick, readers_.wants_answers());
    readers_.pass(Clock::now());
  }
}

void Writer::marshal_objects() {
  while (readers_.wait_until_object_wanted()) {
    const platform::MutexLock held(mutex_);
    send_objects();
  }
}

void Writer::give_roles() {
  int taker = 0;
  while (inbox_->wait_for_taker(&taker)) {
    if (readers_.has(taker)) give_role(taker);
  }
}

void Writer::give_role(int taker) {
  role_ = Role::being_given;
  inbox_->set_joining(false);
  inbox_->set_giving(false);
  if (held_name_.give_up() != AM_OK) return take_role_back();
  {
    // So that the object has every call that was not refused.
    const platform::MutexLock held(mutex_);
    readers_.hand_over(taker, snapshot());
  }
  if (inbox_->wait_for_role_taken(Clock::now() + 2 * std::chrono::milliseconds(options_.life_ms))) {
    role_ = Role::given;
  } else {
    take_role_back();
  }
}

void Writer::take_role_back() {
  while (!inbox_->is_door_closed()) {
    const int result = held_name_.take();
    const bool is_kept = result == AM_OK;
    role_ = is_kept ? Role::kept : result == AM_ERR_NOT_SENT ? Role::unknown : Role::given;
    inbox_->set_joining(is_kept);
    inbox_->set_giving(is_kept && options_.gives_role);
    if (role_ != Role::unknown) return;
    inbox_->wait_until_door_closed(Clock::now() + name_retry);
  }
}

std::string Writer::why_no_writer() const {
  const std::string begin = "the writer's role of " + name_;
  switch (role_) {
    case Role::given:
      return begin + " was given away: make a reader, which may take it";
    case Role::unknown:
      return begin +
             " is not certain: the name server does not answer, and is asked again. Call again "
             "when "
             "is_writer(); make a new Factory if the server was started anew";
    default:
      return begin + " is being given to a reader: make a reader, or call again when is_writer()";
  }
}

std::unique_ptr<ActiveWriter> start_writer(const std::string& name,
                                           std::shared_ptr<StandardContainer> object,
                                           const Options& options) {
  return std::make_unique<Writer>(name, std::move(object), options);
}

}  // namespace iw::containers
