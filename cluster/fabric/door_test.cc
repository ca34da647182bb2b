// A door at which more ask than it lets in at once.
#include "fabric/door.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <memory>

#include "fabric/stream.h"

using namespace iw::fabric;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t let_in_max = 64;

Deadline soon() { return Clock::now() + 30s; }

std::vector<std::byte> admit(std::uint32_t worker, const Caller&) {
  return std::vector<std::byte>(40, static_cast<std::byte>(worker));
}

// Comes to the door and says nothing.
class Silent {
 public:
  explicit Silent(const Place& place) {
    EXPECT_EQ(connect_to(htonl(INADDR_LOOPBACK), place.port, soon(), &fd_), Status::ok);
  }
  ~Silent() { close(fd_); }
  bool is_put_out() const {
    std::byte any;
    return recv(fd_, &any, 1, MSG_DONTWAIT) == 0;
  }
  Silent(const Silent&) = delete;
  Silent& operator=(const Silent&) = delete;

 private:
  int fd_ = -1;
};

// While it lives this process can open nothing: the limit is the lowest number that is free.
class NoDescriptors {
 public:
  NoDescriptors() {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &usual_), 0);
    const int lowest = dup(STDERR_FILENO);
    close(lowest);
    rlimit low = usual_;
    low.rlim_cur = static_cast<rlim_t>(lowest);
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  }
  ~NoDescriptors() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &usual_), 0); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit usual_{};
};

class Doors : public ::testing::Test {
 protected:
  void open(std::chrono::milliseconds patience) {
    door_ = std::make_unique<Door>(host_, key_, strangers_, true, callbacks_, patience);
    ASSERT_TRUE(door_->is_open());
  }
  void let_come_silent(std::size_t count) {
    while (silent_.size() < count) silent_.push_back(std::make_unique<Silent>(door_->place()));
  }
  std::future<Status> ask() {
    return std::async(std::launch::async, [this] {
      Admission answer;
      const Status status = guest_.ask({host_, door_->place(), 7}, 1, soon(), &answer);
      EXPECT_EQ(answer.transport_address == admit(7, {}), status == Status::ok);
      return status;
    });
  }
  Status answer_to(std::future<Status>& asked) {
    while (asked.wait_for(0s) != std::future_status::ready) {
      pollfd one{door_->event_fd(), POLLIN, 0};
      poll(&one, 1, 10);
      door_->handle();
    }
    return asked.get();
  }

  const Deadline begin_ = Clock::now();
  const JobKey key_ = JobKey::draw();
  Strangers strangers_;
  const Door::Callbacks callbacks_{&admit, [](const ProcessName&) {}};
  const ProcessName host_ = name_of_this_process();  // two names of one process: nonces differ
  Door guest_{name_of_this_process(), key_, strangers_, true, callbacks_};
  std::unique_ptr<Door> door_;
  std::vector<std::unique_ptr<Silent>> silent_;
};

}  // namespace

TEST_F(Doors, WhoAsksBehindTheSilentIsAnswered) {
  open(1s);
  let_come_silent(2 * let_in_max);
  auto asked = ask();
  EXPECT_EQ(answer_to(asked), Status::ok);
}

// [HELLO-10]
TEST_F(Doors, TheSilentArePutOutThoughNobodyWaitsOutside) {
  open(0ms);
  let_come_silent(1);
  while (!silent_[0]->is_put_out()) {
    pollfd one{door_->event_fd(), POLLIN, 0};
    poll(&one, 1, 10);
    door_->handle();
    ASSERT_LT(Clock::now(), begin_ + 30s);
  }
}

// Without a descriptor for a caller the door waits; a listener that stays ready would keep the
// service thread busy.
TEST_F(Doors, WithoutDescriptorsTheDoorSleepsAndLetsInLater) {
  open(1h);
  let_come_silent(1);
  const auto is_ready = [this] {
    pollfd one{door_->event_fd(), POLLIN, 0};
    return poll(&one, 1, 0) == 1;
  };
  while (!is_ready()) ASSERT_LT(Clock::now(), begin_ + 30s);
  {
    const NoDescriptors none;
    door_->handle();
    EXPECT_FALSE(is_ready());
    door_->handle();
    EXPECT_FALSE(is_ready());
  }
  auto asked = ask();
  EXPECT_EQ(answer_to(asked), Status::ok);
}

TEST_F(Doors, ACrowdIsAnsweredToTheLastThroughTheOnePlaceThatIsFree) {
  open(1h);
  let_come_silent(let_in_max - 1);
  std::vector<std::future<Status>> crowd;
  for (int i = 0; i < 40; i++) crowd.push_back(ask());
  for (auto& each : crowd) EXPECT_EQ(answer_to(each), Status::ok);
}
