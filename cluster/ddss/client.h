// A process that takes part through the daemon of its machine. Each thread has a channel of its own
// from its first call on.
#pragma once

#include <map>
#include <thread>
#include <vector>

#include "ddss/channel.h"
#include "platform/mutex.h"

namespace iw::ddss {

// A thread's channel. The daemon holds the thread's locks for the channel, and releases them when
// the channel ends. An operation that was started keeps its slot until another call needs the slot.
class ClientChannel : public std::enable_shared_from_this<ClientChannel> {
 public:
  ClientChannel(std::unique_ptr<ChannelEnd> end, std::chrono::milliseconds timeout,
                std::chrono::microseconds spin)
      : end_(std::move(end)), timeout_(timeout), spin_(spin) {}

  // Submits the request and waits. `data` goes with the request; the data of the answer come to
  // `to`.
  int call(const Request& request, std::span<const std::byte> data, std::span<std::byte> to,
           Answer* answer);
  std::unique_ptr<Operation> start(const Request& request, std::span<const std::byte> data,
                                   std::span<std::byte> to);
  bool is_broken() const { return broken_ != 0; }
  // The daemon releases the thread's locks. Calls that are not answered end with DDSS_ENOTINIT.
  void hang_up();

 private:
  friend class ChannelOperation;
  struct Pending {
    std::uint32_t number = 0;
    bool is_answered = false;
    std::span<std::byte> to;
    Answer answer;
  };
  using Kept = std::shared_ptr<Pending>;
  Kept submit(const Request& request, std::span<const std::byte> data, std::span<std::byte> to)
      IW_REQUIRES(mutex_);
  void finish(Pending& pending) IW_REQUIRES(mutex_);
  template <typename Condition>
  int await(Condition is_over) IW_REQUIRES(mutex_);
  void give_up(Pending& pending, int error) IW_REQUIRES(mutex_);
  void take_answers_before(std::uint32_t number) IW_REQUIRES(mutex_);
  std::uint32_t unanswered() const IW_REQUIRES(mutex_) { return submitted_ - taken_; }

  const std::unique_ptr<ChannelEnd> end_;
  const std::chrono::milliseconds timeout_;
  const std::chrono::microseconds spin_;
  platform::Mutex mutex_;
  std::atomic<int> broken_{0};  // the error of all further calls; 0: not broken
  std::uint32_t submitted_ IW_GUARDED_BY(mutex_) = 0;
  std::uint32_t taken_ IW_GUARDED_BY(mutex_) = 0;  // answers
  std::array<Kept, slots_in_channel> pending_ IW_GUARDED_BY(mutex_);
};

struct ClientOptions {
  std::string path;
  std::chrono::milliseconds timeout{10'000};
  std::chrono::microseconds spin{20};
};

class Client final : public Backend {
 public:
  // nullptr, and why in *failure.
  static std::unique_ptr<Client> open(const ClientOptions& options, Failure* failure);
  ~Client() override;

  int node() const override { return node_; }
  int nodes() override;
  int await_nodes(int count) override;
  const std::string& address() const override { return address_; }
  int allocate(std::size_t size, ddss_model_t model, const ddss_allocation_t& how,
               Key* key) override;
  int release(Key key) override;
  int describe(Key key, ddss_description_t* description) override;
  int is_onesided(Key key) override;
  int get(Key key, std::size_t offset, std::span<std::byte> to, Which which,
          std::uint64_t* version) override;
  int put(Key key, std::size_t offset, std::span<const std::byte> from) override;
  int change(Key key, std::size_t offset, const Atomic& what, std::uint64_t* before) override;
  int barrier(Key key, int count) override;
  int local(Key key, void** data) override;
  int version(Key key, std::uint64_t* version) override;
  int start_get(Key key, std::span<std::byte> to, std::unique_ptr<Operation>* started) override;
  int start_put(Key key, std::span<const std::byte> from,
                std::unique_ptr<Operation>* started) override;
  int lock(Key key, Hold hold, bool may_wait) override;
  int unlock(Key key) override;
  int lock_word(Key key, std::uint64_t* word) override;

 private:
  explicit Client(const ClientOptions& options);
  // The calling thread's. nullptr: no channel can be had; errno says why.
  std::shared_ptr<ClientChannel> channel();
  int call(const Request& request, Answer* answer);
  int word(Call call, Key key, std::uint64_t* word);

  const ClientOptions options_;
  const std::uint64_t serial_;  // no other Client of this process has it
  int node_ = -1;
  std::string address_;
  platform::Mutex channels_mutex_;
  // Some of their threads may have ended.
  std::vector<std::weak_ptr<ClientChannel>> channels_ IW_GUARDED_BY(channels_mutex_);
};

}  // namespace iw::ddss
