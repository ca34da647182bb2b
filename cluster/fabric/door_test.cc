// A door at which more ask than it lets in at once, and doors that hang up.
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

// The door of a process that the test plays.
class PlayedDoor {
 public:
  PlayedDoor() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
    at_.sin_family = AF_INET;
    at_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof at_;
    EXPECT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&at_), length), 0);
    EXPECT_EQ(listen(listener_, 4), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&at_), &length), 0);
  }
  ~PlayedDoor() {
    hang_up();
    close(listener_);
  }
  PlayedDoor(const PlayedDoor&) = delete;
  PlayedDoor& operator=(const PlayedDoor&) = delete;
  Place place() const { return {at_.sin_addr.s_addr, at_.sin_port}; }

  DoorQuestion hear_question() {
    DoorQuestion question;
    EXPECT_EQ(wait_for(listener_, POLLIN, soon()), Status::ok);
    fd_ = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK);
    EXPECT_EQ(receive_all(fd_, std::as_writable_bytes(std::span(&question, 1)), soon()),
              Status::ok);
    return question;
  }
  void hang_up() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  void hear_proof(const JobKey& key, const DoorQuestion& question) const {
    const Challenge made = challenge(key, door_label, bytes_of_message(question));
    EXPECT_EQ(send_all(fd_, bytes_of_message(made), soon()), Status::ok);
    Proof proof;
    EXPECT_EQ(receive_all(fd_, proof, soon()), Status::ok);
  }
  void answer(Bytes transport_address) const {
    EXPECT_EQ(send_piece(fd_, transport_address, soon()), Status::ok);
  }
  bool is_asked_again() const {
    pollfd one{listener_, POLLIN, 0};
    return poll(&one, 1, 0) > 0;
  }

 private:
  const int listener_;
  sockaddr_in at_{};
  int fd_ = -1;
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
  std::future<Status> ask() { return ask_at(door_->place()); }
  std::future<Status> ask_at(const Place& place) {
    return std::async(std::launch::async, [this, place] {
      Admission answer;
      const Status status = guest_.ask({host_, place, 7}, 1, soon(), &answer);
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

// [HELLO-10] The door of a process that lives hangs up on who is slow, before and after the
// challenge.
TEST_F(Doors, WhoIsHungUpOnOnceAsksOnceMore) {
  for (const bool is_challenged : {false, true}) {
    PlayedDoor door;
    auto asked = ask_at(door.place());
    const DoorQuestion first = door.hear_question();
    if (is_challenged) door.hear_proof(key_, first);
    door.hang_up();
    const DoorQuestion second = door.hear_question();
    EXPECT_NE(first.of_asking, second.of_asking) << "[HELLO-2]";
    door.hear_proof(key_, second);
    door.answer(admit(7, {}));
    EXPECT_EQ(asked.get(), Status::ok);
  }
}

// [HELLO-10]
TEST_F(Doors, WhoIsHungUpOnTwiceTakesTheProcessForDead) {
  PlayedDoor door;
  auto asked = ask_at(door.place());
  for (int i = 0; i < 2; i++) {
    door.hear_question();
    door.hang_up();
  }
  EXPECT_EQ(asked.get(), Status::peer_dead);
  EXPECT_FALSE(door.is_asked_again());
}

// [HELLO-4] Another process has the place of the one that is asked.
TEST_F(Doors, AProcessWhosePlaceAnotherHasIsDead) {
  open(1h);
  auto asked = std::async(std::launch::async, [this] {
    Admission answer;
    return guest_.ask({name_of_this_process(), door_->place(), 7}, 1, soon(), &answer);
  });
  EXPECT_EQ(answer_to(asked), Status::peer_dead);
}

TEST_F(Doors, AWorkerThatTheDoorDoesNotKnowIsDead) {
  PlayedDoor door;
  auto asked = ask_at(door.place());
  door.hear_proof(key_, door.hear_question());
  door.answer({});
  EXPECT_EQ(asked.get(), Status::peer_dead);
  EXPECT_FALSE(door.is_asked_again()) << "the answer counts";
}
