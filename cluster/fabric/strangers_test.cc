// Strangers at the door: processes with another key, with none, with what they recorded, or of
// another version of the hello.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fabric/door.h"
#include "fabric/fabric_fixture.h"
#include "fabric/hello_messages.h"
#include "fabric/process_name.h"
#include "fabric/stream.h"

using namespace iw::fabric_tests;

namespace {

constexpr const char* our_key = "00112233445566778899aabbccddeeff";
constexpr const char* another_key = "ffeeddccbbaa99887766554433221100";

JobKey key_of(const char* text) {
  JobKey key;
  EXPECT_TRUE(JobKey::from_text(text, &key));
  return key;
}

AddressParts parts_of(const Address& address) { return decode(address).value(); }

// A socket at a process's door.
class Knock {
 public:
  explicit Knock(const Address& address) {
    const std::uint16_t port = parts_of(address).place.port;
    EXPECT_EQ(connect_to(htonl(INADDR_LOOPBACK), port, soon(), &fd_), Status::ok);
  }
  ~Knock() { close(fd_); }
  Knock(const Knock&) = delete;
  Knock& operator=(const Knock&) = delete;
  void say(Bytes bytes) const { EXPECT_EQ(send_all(fd_, bytes, soon()), Status::ok); }
  template <typename T>
  Status hear(T* value) const {
    return receive_all(fd_, std::as_writable_bytes(std::span(value, 1)), soon());
  }
  bool is_let_in() const {
    std::vector<std::byte> transport_address;
    return receive_piece(fd_, transport_address_bytes_max, &transport_address, soon()) ==
           Status::ok;
  }

 private:
  int fd_ = -1;
};

DoorQuestion question_to(const Address& address) {
  DoorQuestion question;
  question.of_asking = draw_nonce();
  question.asked_process = parts_of(address).process.nonce;
  question.asking_process = draw_nonce();
  question.worker = parts_of(address).worker;
  return question;
}

class AtTheDoor : public ::testing::Test {
 protected:
  AtTheDoor() { setenv("IW_CLUSTER_KEY", our_key, 1); }
  ~AtTheDoor() override { unsetenv("IW_CLUSTER_KEY"); }
  // How a process with this environment fares that connects.
  static Status try_to_connect(const Process& here, const std::map<std::string, std::string>& as) {
    const Child stranger("stranger_who_connects", as);
    stranger.line().say_value(here.worker->address());
    return stranger.line().hear_value<Status>();
  }
};

}  // namespace

ROLE(stranger_who_connects) {
  const Process here(Transport::shm);
  PeerId peer = 0;
  const auto address = parent.hear_value<Address>();
  parent.say_value(here.worker->connect(address, soon(), &peer));
  return 0;
}

// [HELLO-3] [HELLO-6]
TEST_F(AtTheDoor, AProcessWithAnotherKeyOrWithNoneIsRefused) {
  const Process here(Transport::shm);
  unsigned connected = 0;
  here.worker->on_connect([&](PeerId) { connected++; });
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(try_to_connect(here, {{"IW_CLUSTER_KEY", another_key}}), Status::refused);
  unsetenv("IW_CLUSTER_KEY");
  EXPECT_EQ(try_to_connect(here, {}), Status::refused);
  EXPECT_EQ(here.worker->wait([&] { return here.fabric->strangers_refused() == 2; }, soon()),
            Status::ok);
  EXPECT_EQ(connected, 0u);
  EXPECT_EQ(try_to_connect(here, {{"IW_CLUSTER_KEY", our_key}}), Status::ok);
  EXPECT_EQ(here.fabric->strangers_refused(), 2u);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("refused a stranger at the door"), std::string::npos) << log;
  EXPECT_NE(log.find("IW_CLUSTER_KEY"), std::string::npos) << log;
  for (const char* key : {our_key, another_key}) EXPECT_EQ(log.find(key), std::string::npos) << log;
}

// Says what another recorded, and whether the door let it in.
ROLE(stranger_who_replays) {
  const auto address = parent.hear_value<Address>();
  const auto question = parent.hear(), proof = parent.hear();
  const Knock knock(address);
  Challenge answer;
  knock.say(question);
  if (knock.hear(&answer) != Status::ok) return 1;
  knock.say(proof);
  parent.say_value(knock.is_let_in());
  return 0;
}

// [HELLO-2]
TEST_F(AtTheDoor, ARecordedProofDoesNotCountASecondTime) {
  const Process here(Transport::shm);
  const Address address = here.worker->address();
  const DoorQuestion question = question_to(address);
  const Knock knock(address);
  Challenge answer;
  knock.say(bytes_of_message(question));
  ASSERT_EQ(knock.hear(&answer), Status::ok);
  const Bytes asked = bytes_of_message(question);
  EXPECT_EQ(why_not_proven(key_of(our_key), door_label, asked, answer), "");
  const Proof proof =
      key_of(our_key).prove(caller_label, {asked, bytes_of_message(answer.of_asked)});
  knock.say(proof);
  EXPECT_TRUE(knock.is_let_in());
  EXPECT_EQ(here.fabric->strangers_refused(), 0u);
  const Child stranger("stranger_who_replays", {{"IW_CLUSTER_KEY", ""}});
  stranger.line().say_value(address);
  stranger.line().say(asked);
  stranger.line().say(proof);
  EXPECT_FALSE(stranger.line().hear_value<bool>());
  EXPECT_EQ(here.fabric->strangers_refused(), 1u);
}

// [HELLO-2] What the door proves to a caller does not prove a caller.
TEST_F(AtTheDoor, TheDoorsOwnProofDoesNotOpenIt) {
  const Process here(Transport::shm);
  const Knock knock(here.worker->address());
  Challenge answer;
  knock.say(bytes_of_message(question_to(here.worker->address())));
  ASSERT_EQ(knock.hear(&answer), Status::ok);
  knock.say(answer.proof);
  EXPECT_FALSE(knock.is_let_in());
  EXPECT_EQ(here.fabric->strangers_refused(), 1u);
}

// [HELLO-4]
TEST_F(AtTheDoor, AQuestionToAnotherProcessOrAboutSomethingElseHasNoAnswer) {
  const Process here(Transport::shm);
  const Address address = here.worker->address();
  Challenge answer;
  DoorQuestion to_another = question_to(address);
  to_another.asked_process = draw_nonce();
  const Knock first(address);
  first.say(bytes_of_message(to_another));
  EXPECT_EQ(first.hear(&answer), Status::peer_dead);
  EXPECT_EQ(here.fabric->strangers_refused(), 0u) << "a process whose place another has now";
  const std::string http = "GET / HTTP/1.1\r\n\r\n";
  const Knock second(address);
  second.say(std::as_bytes(std::span(http)));
  EXPECT_EQ(second.hear(&answer), Status::peer_dead);
  EXPECT_EQ(here.fabric->strangers_refused(), 1u);
}

// Says the head of another version.
ROLE(stranger_of_version_7) {
  const Knock knock(parent.hear_value<Address>());
  const HelloHead head{hello_magic, 7};
  knock.say(bytes_of_message(head));
  Challenge answer;
  const Status heard = knock.hear(&answer);
  parent.say_value(heard);
  parent.say_value(answer);
  return 0;
}

// [HELLO-5]
TEST_F(AtTheDoor, TheLogNamesBothVersionsOfAHello) {
  const Process here(Transport::shm);
  ::testing::internal::CaptureStderr();
  const Child stranger("stranger_of_version_7");
  stranger.line().say_value(here.worker->address());
  EXPECT_EQ(stranger.line().hear_value<Status>(), Status::ok);
  const auto answer = stranger.line().hear_value<Challenge>();
  EXPECT_EQ(answer.status, ChallengeStatus::other_version);
  EXPECT_EQ(answer.head.version, hello_version);
  EXPECT_EQ(answer.of_asked, Nonce{});
  EXPECT_EQ(here.fabric->strangers_refused(), 1u);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("version 7"), std::string::npos) << log;
  EXPECT_NE(log.find("version " + std::to_string(hello_version)), std::string::npos) << log;
}

// A door of another version, to which a process of this one connects.
ROLE(connects_to_version_7) {
  const Process here(Transport::shm);
  const auto address = parent.hear_value<Address>();
  ::testing::internal::CaptureStderr();
  PeerId peer = 0;
  parent.say_value(here.worker->connect(address, soon(), &peer));
  parent.say(::testing::internal::GetCapturedStderr());
  return 0;
}

TEST_F(AtTheDoor, AProcessThatFindsAnotherVersionThereNamesBoth) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  socklen_t length = sizeof at;
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&at), length), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&at), &length), 0);
  const Child caller("connects_to_version_7");
  caller.line().say_value(encode({name_of_this_process(), {at.sin_addr.s_addr, at.sin_port}, 0}));
  const int fd = accept(listener, nullptr, nullptr);
  DoorQuestion question;
  EXPECT_EQ(receive_all(fd, std::as_writable_bytes(std::span(&question, 1)), soon()), Status::ok);
  EXPECT_TRUE(is_ours(question.head));
  Challenge answer;
  answer.head.version = 7;
  answer.status = ChallengeStatus::other_version;
  EXPECT_EQ(send_all(fd, bytes_of_message(answer), soon()), Status::ok);
  EXPECT_EQ(caller.line().hear_value<Status>(), Status::refused);
  const std::string log = caller.line().hear_text();
  EXPECT_NE(log.find("version 7"), std::string::npos) << log;
  EXPECT_NE(log.find("version " + std::to_string(hello_version)), std::string::npos) << log;
  close(fd);
  close(listener);
}

// [HELLO-1]
TEST_F(AtTheDoor, AProcessWithoutAKeyIsOfItsMachineOnly) {
  unsetenv("IW_CLUSTER_KEY");
  const Process here(Transport::shm);
  EXPECT_EQ(parts_of(here.worker->address()).place.ip4, htonl(INADDR_LOOPBACK));
  AddressParts elsewhere = parts_of(here.worker->address());
  elsewhere.process.host++;
  elsewhere.process.nonce = draw_nonce();
  ::testing::internal::CaptureStderr();
  PeerId peer = 0;
  EXPECT_EQ(here.worker->connect(encode(elsewhere), soon(), &peer), Status::refused);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("set IW_CLUSTER_KEY"), std::string::npos) << log;
}

TEST_F(AtTheDoor, ManyStrangersAreCountedAndHaveOneLine) {
  const Process here(Transport::shm);
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 5; i++) {
    const Knock knock(here.worker->address());
    const HelloHead head{hello_magic, 7};
    knock.say(bytes_of_message(head));
    Challenge answer;
    EXPECT_EQ(knock.hear(&answer), Status::ok);
  }
  EXPECT_EQ(here.worker->wait([&] { return here.fabric->strangers_refused() == 5; }, soon()),
            Status::ok);
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
}
