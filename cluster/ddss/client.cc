#include "ddss/client.h"

#include <cerrno>
#include <cstring>

#include "ddss/daemon_socket.h"

namespace iw::ddss {
namespace {

Request request_of(Call call, Key key) {
  Request request;
  request.call = call;
  request.key = key;
  return request;
}

Request request_of(Call call, Key key, std::size_t offset, std::size_t nbytes) {
  Request request = request_of(call, key);
  request.offset = offset;
  request.nbytes = nbytes;
  return request;
}

}  // namespace

// A call that was started, and whose answer is waited for later.
class ChannelOperation final : public Operation {
 public:
  ChannelOperation(std::shared_ptr<ClientChannel> channel, ClientChannel::Kept pending)
      : channel_(std::move(channel)), pending_(std::move(pending)) {}
  // Nothing is written to the caller's memory any more.
  ~ChannelOperation() override {
    const platform::MutexLock held(channel_->mutex_);
    pending_->to = {};
  }
  int wait() override {
    const platform::MutexLock held(channel_->mutex_);
    channel_->finish(*pending_);
    return pending_->answer.result;
  }

 private:
  const std::shared_ptr<ClientChannel> channel_;
  const ClientChannel::Kept pending_;
};

int ClientChannel::call(const Request& request, std::span<const std::byte> data,
                        std::span<std::byte> to, Answer* answer) {
  const platform::MutexLock held(mutex_);
  const Kept pending = submit(request, data, to);
  finish(*pending);
  if (answer != nullptr) *answer = pending->answer;
  return pending->answer.result;
}

std::unique_ptr<Operation> ClientChannel::start(const Request& request,
                                                std::span<const std::byte> data,
                                                std::span<std::byte> to) {
  const platform::MutexLock held(mutex_);
  return std::make_unique<ChannelOperation>(shared_from_this(), submit(request, data, to));
}

ClientChannel::Kept ClientChannel::submit(const Request& request, std::span<const std::byte> data,
                                          std::span<std::byte> to) {
  const bool is_fit = data.size() <= slot_data_bytes && to.size() <= slot_data_bytes;
  int error = is_fit ? 0 : DDSS_EARGUMENT;
  if (error == 0) {
    error = await([this] {
      mutex_.assert_held();
      return unanswered() < slots_in_channel;
    });
  }
  if (error != 0) {
    auto refused = std::make_shared<Pending>();
    refused->is_answered = true;
    refused->answer.result = error;
    return refused;
  }
  Kept& place = pending_[submitted_ % slots_in_channel];
  if (place == nullptr || place.use_count() > 1) place = std::make_shared<Pending>();
  *place = Pending{submitted_, false, to, {}};
  Channel& channel = end_->channel();
  Channel::Slot& slot = channel.slot(submitted_);
  slot.state.store(SlotState::asked, std::memory_order_relaxed);
  slot.request = request;
  if (!data.empty()) std::memcpy(channel.data(submitted_), data.data(), data.size());
  submitted_++;
  count_up(channel.submitted, channel.daemon_sleeps);
  return place;
}

void ClientChannel::finish(Pending& pending) {
  const int error = await([&] { return pending.is_answered; });
  if (error != 0 && !pending.is_answered) give_up(pending, error);
}

// Takes answers until the condition holds. Returns an error if the daemon is gone, or does not
// answer in time.
template <typename Condition>
int ClientChannel::await(Condition is_over) {
  std::chrono::steady_clock::time_point deadline{};
  Channel& channel = end_->channel();
  for (;;) {
    const std::uint32_t answered = channel.answered.load(std::memory_order_acquire);
    take_answers_before(answered);
    if (is_over()) return 0;
    if (broken_ != 0) return broken_;
    if (await_change(channel.answered, answered, channel.client_sleeps, spin_)) continue;
    const auto now = std::chrono::steady_clock::now();
    if (deadline == std::chrono::steady_clock::time_point{}) deadline = now + timeout_;
    if (const int error = end_->error(); error != 0) {
      broken_ = error;
    } else if (now >= deadline) {
      return DDSS_ETIMEDOUT;
    }
  }
}

void ClientChannel::hang_up() {
  broken_ = DDSS_ENOTINIT;
  end_->hang_up();
}

// If the daemon has just answered the call, takes the answer instead. All earlier calls are
// answered then, too, although `answered` may not count them yet.
void ClientChannel::give_up(Pending& pending, int error) {
  auto state = SlotState::asked;
  auto& its_state = end_->channel().slot(pending.number).state;
  if (!its_state.compare_exchange_strong(state, SlotState::given_up)) {
    return take_answers_before(pending.number + 1);
  }
  pending.is_answered = true;
  pending.answer.result = error;
}

// Answers that are taken already are not taken again.
void ClientChannel::take_answers_before(std::uint32_t number) {
  Channel& channel = end_->channel();
  for (; static_cast<std::int32_t>(number - taken_) > 0; taken_++) {
    Pending& pending = *pending_[taken_ % slots_in_channel];
    if (pending.is_answered) continue;  // given up
    pending.answer = channel.slot(taken_).answer;
    pending.is_answered = true;
    if (pending.answer.result == 0 && !pending.to.empty()) {
      std::memcpy(pending.to.data(), channel.data(taken_), pending.to.size());
    }
  }
}

// Waits a second longer than the daemon, whose own waits end with the timeout, so that its answer
// still arrives.
Client::Client(const ClientOptions& options)
    : options_{options.path, options.timeout + std::chrono::seconds(1), options.spin}, serial_([] {
        static std::atomic<std::uint64_t> last{0};
        return ++last;
      }()) {}

std::unique_ptr<Client> Client::open(const ClientOptions& options, Failure* failure) {
  std::unique_ptr<Client> client(new Client(options));
  std::array<std::byte, 256> address{};
  const auto channel = client->channel();
  if (channel == nullptr) {
    *failure = {DDSS_EUNREACHABLE, "no daemon at " + options.path + ": " + std::strerror(errno)};
    return nullptr;
  }
  Answer answer;
  failure->error = channel->call(request_of(Call::hello, 0), {}, address, &answer);
  if (failure->error != 0) return nullptr;
  client->node_ = answer.node;
  const auto* text = reinterpret_cast<const char*>(address.data());
  client->address_.assign(text, strnlen(text, address.size()));
  return client;
}

std::shared_ptr<ClientChannel> Client::channel() {
  struct Mine {
    std::uint64_t serial = 0;
    std::shared_ptr<ClientChannel> channel;
  };
  static thread_local Mine mine;
  if (mine.serial == serial_ && !mine.channel->is_broken()) return mine.channel;
  mine = {};
  const int socket = connect_to_daemon(options_.path);
  if (socket < 0) return nullptr;
  auto end = ChannelEnd::offer(socket);
  if (end == nullptr) return nullptr;
  mine = {serial_,
          std::make_shared<ClientChannel>(std::move(end), options_.timeout, options_.spin)};
  const platform::MutexLock held(channels_mutex_);
  std::erase_if(channels_, [](const auto& each) { return each.expired(); });
  channels_.push_back(mine.channel);
  return mine.channel;
}

// The threads own the channels and may live longer.
Client::~Client() {
  const platform::MutexLock held(channels_mutex_);
  for (const auto& each : channels_) {
    if (const auto channel = each.lock()) channel->hang_up();
  }
}

int Client::call(const Request& request, Answer* answer) {
  const auto mine = channel();
  return mine == nullptr ? DDSS_ENODE : mine->call(request, {}, {}, answer);
}

int Client::nodes() { return call(request_of(Call::nodes, 0), nullptr); }

int Client::await_nodes(int count) {
  Request request = request_of(Call::await_nodes, 0);
  request.count = count;
  return call(request, nullptr);
}

int Client::allocate(std::size_t size, ddss_model_t model, const ddss_allocation_t& how, Key* key) {
  const auto mine = channel();
  if (mine == nullptr) return DDSS_ENODE;
  const std::string name = how.name == nullptr ? "" : how.name;
  const bool is_fit = name.size() <= name_bytes_max && (how.name == nullptr || !name.empty());
  if (!is_fit) return DDSS_EARGUMENT;
  Request request = request_of(Call::allocate, 0, 0, size);
  request.model = model;
  AllocationText text{how, text_of_name(name)};
  text.how.name = nullptr;
  text.how.was_created = nullptr;
  Answer answer;
  const int error = mine->call(request, std::as_bytes(std::span(&text, 1)), {}, &answer);
  *key = answer.key;
  if (error == 0 && how.was_created != nullptr) *how.was_created = answer.was_created;
  return error;
}

int Client::release(Key key) { return call(request_of(Call::release, key), nullptr); }

int Client::describe(Key key, ddss_description_t* description) {
  const auto mine = channel();
  const auto to = std::as_writable_bytes(std::span(description, 1));
  return mine == nullptr ? DDSS_ENODE
                         : mine->call(request_of(Call::describe, key), {}, to, nullptr);
}

int Client::is_onesided(Key key) { return call(request_of(Call::is_onesided, key), nullptr); }

int Client::get(Key key, std::size_t offset, std::span<std::byte> to, Which which,
                std::uint64_t* version) {
  const auto mine = channel();
  if (mine == nullptr) return DDSS_ENODE;
  Request request = request_of(Call::get, key, offset, to.size());
  request.which = which;
  if (version != nullptr) request.version = *version;
  Answer answer;
  const int error = mine->call(request, {}, to, &answer);
  if (error >= 0 && version != nullptr) *version = answer.word;
  return error;
}

int Client::put(Key key, std::size_t offset, std::span<const std::byte> from) {
  const auto mine = channel();
  if (mine == nullptr) return DDSS_ENODE;
  return mine->call(request_of(Call::put, key, offset, from.size()), from, {}, nullptr);
}

int Client::change(Key key, std::size_t offset, const Atomic& what, std::uint64_t* before) {
  Request request = request_of(what.is_swap ? Call::compare_swap : Call::fetch_add, key);
  request.offset = offset;
  request.nbytes = what.expected;
  request.version = what.value;
  Answer answer;
  const int error = call(request, &answer);
  if (error == 0) *before = answer.word;
  return error;
}

int Client::barrier(Key key, int count) {
  Request request = request_of(Call::barrier, key);
  request.count = count;
  return call(request, nullptr);
}

int Client::local(Key, void**) { return DDSS_ENOTLOCAL; }

int Client::word(Call what, Key key, std::uint64_t* word) {
  Answer answer;
  const int error = call(request_of(what, key), &answer);
  if (error == 0) *word = answer.word;
  return error;
}

int Client::version(Key key, std::uint64_t* version) { return word(Call::version, key, version); }

int Client::lock_word(Key key, std::uint64_t* word) {
  return this->word(Call::lock_word, key, word);
}

int Client::start_get(Key key, std::span<std::byte> to, std::unique_ptr<Operation>* started) {
  const auto mine = channel();
  if (mine == nullptr) return DDSS_ENODE;
  *started = mine->start(request_of(Call::get, key, 0, to.size()), {}, to);
  return 0;
}

int Client::start_put(Key key, std::span<const std::byte> from,
                      std::unique_ptr<Operation>* started) {
  const auto mine = channel();
  if (mine == nullptr) return DDSS_ENODE;
  *started = mine->start(request_of(Call::put, key, 0, from.size()), from, {});
  return 0;
}

int Client::lock(Key key, Hold hold, bool may_wait) {
  Request request = request_of(Call::lock, key);
  request.hold = hold;
  request.may_wait = may_wait ? 1 : 0;
  return call(request, nullptr);
}

int Client::unlock(Key key) { return call(request_of(Call::unlock, key), nullptr); }

}  // namespace iw::ddss
