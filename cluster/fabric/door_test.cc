// A door at which more ask than it lets in at once.
#include "fabric/door.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
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
  Silent(const Silent&) = delete;
  Silent& operator=(const Silent&) = delete;

 private:
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
  open(0ms);
  let_come_silent(2 * let_in_max);
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
