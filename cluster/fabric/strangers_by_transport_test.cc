// Strangers that found the transport's socket and pass the door over: what they say by UCX counts
// only with a pass and a proof.
#include <gtest/gtest.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <ucp/api/ucp.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <future>
#include <map>
#include <thread>
#include <utility>

#include "fabric/called_endpoints.h"
#include "fabric/door.h"
#include "fabric/fabric_fixture.h"
#include "fabric/hello_messages.h"
#include "fabric/memory_key.h"
#include "fabric/messenger.h"
#include "fabric/packed.h"
#include "fabric/passes.h"
#include "fabric/process_name.h"
#include "fabric/transport_segments.h"

using namespace iw::fabric_tests;

namespace {

constexpr const char* our_key = "00112233445566778899aabbccddeeff";

// The bare transport, as anybody has it who has UCX.
class BareTransport {
 public:
  BareTransport() {
    ucp_config_t* config = nullptr;
    EXPECT_EQ(ucp_config_read(nullptr, nullptr, &config), UCS_OK);
    ucp_config_modify(config, "TLS", "self,tcp");
    ucp_config_modify(config, "NET_DEVICES", "lo");
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_RMA;
    EXPECT_EQ(ucp_init(&params, config, &context_), UCS_OK);
    ucp_config_release(config);
    ucp_worker_params_t worker_params{};
    EXPECT_EQ(ucp_worker_create(context_, &worker_params, &worker_), UCS_OK);
    for (const unsigned id : {hello_id, welcome_id, goodbye_id, unsigned{request_id}}) {
      keep_last(id);
    }
  }
  ~BareTransport() {
    ucp_worker_destroy(worker_);
    ucp_cleanup(context_);
  }
  BareTransport(const BareTransport&) = delete;
  BareTransport& operator=(const BareTransport&) = delete;

  void connect(Bytes transport_address) {
    const auto framed = framed_address(transport_address);
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;  // as the host's
    params.address = reinterpret_cast<const ucp_address_t*>(framed.data());
    EXPECT_EQ(ucp_ep_create(worker_, &params, &endpoint_), UCS_OK);
  }
  std::vector<std::byte> transport_address() {
    ucp_address_t* address = nullptr;
    std::size_t length = 0;
    EXPECT_EQ(ucp_worker_get_address(worker_, &address, &length), UCS_OK);
    const auto* begin = reinterpret_cast<const std::byte*>(address);
    std::vector<std::byte> copy(begin, begin + length);
    ucp_worker_release_address(worker_, address);
    return copy;
  }
  ucs_status_ptr_t post(unsigned id, Bytes header, Bytes data) {
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_AM_SEND_FLAG_EAGER;
    return ucp_am_send_nbx(endpoint_, id, header.data(), header.size(), data.data(), data.size(),
                           &param);
  }
  // And waits until it is out.
  void say(unsigned id, Bytes header, Bytes data) {
    finish(post(id, header, data));
    const ucp_request_param_t plain{};
    finish(ucp_ep_flush_nbx(endpoint_, &plain));
  }
  void progress() { ucp_worker_progress(worker_); }
  // The last message of that number: its header, or all of one without. False: none has come that
  // is as long.
  template <typename T>
  bool last(unsigned id, T* message) const {
    const auto& bytes = last_.at(id);
    if (bytes.size() == sizeof *message) std::memcpy(message, bytes.data(), sizeof *message);
    return bytes.size() == sizeof *message;
  }
  // Asks the other end for a word of its memory, and waits for nothing. The library emulates this
  // over TCP: the right to the word is not looked at.
  void ask_for_word(const std::uint64_t* there, std::uint64_t* here) {
    ucp_mem_map_params_t params{};
    params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    params.address = here;
    params.length = sizeof *here;
    ucp_mem_h mapped = nullptr;
    EXPECT_EQ(ucp_mem_map(context_, &params, &mapped), UCS_OK);
    void* packed = nullptr;
    std::size_t bytes = 0;
    EXPECT_EQ(ucp_rkey_pack(context_, mapped, &packed, &bytes), UCS_OK);
    ucp_rkey_h any_right = nullptr;
    EXPECT_EQ(ucp_ep_rkey_unpack(endpoint_, packed, &any_right), UCS_OK);
    const ucp_request_param_t plain{};
    const auto posted = ucp_get_nbx(endpoint_, here, sizeof *here,
                                    reinterpret_cast<std::uintptr_t>(there), any_right, &plain);
    EXPECT_FALSE(UCS_PTR_IS_ERR(posted));
    ucp_rkey_buffer_release(packed);
  }

 private:
  // UCX 1.13 does not survive a message without a handler.
  void keep_last(unsigned id) {
    ucp_am_handler_param_t param{};
    param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG;
    param.id = id;
    param.arg = &last_[id];
    param.cb = [](void* last, const void* header, std::size_t header_bytes, void* data,
                  std::size_t bytes, const ucp_am_recv_param_t*) {
      const auto* begin = static_cast<const std::byte*>(header_bytes > 0 ? header : data);
      *static_cast<std::vector<std::byte>*>(last) = {
          begin, begin + (header_bytes > 0 ? header_bytes : bytes)};
      return UCS_OK;
    };
    ucp_worker_set_am_recv_handler(worker_, &param);
  }
  void finish(ucs_status_ptr_t posted) {
    if (!UCS_PTR_IS_PTR(posted)) return;
    while (ucp_request_check_status(posted) == UCS_INPROGRESS) progress();
    ucp_request_free(posted);
  }
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  std::map<unsigned, std::vector<std::byte>> last_;
};

// A member of the job whose hellos a test can spoil. It has asked at the door.
class Guest {
 public:
  explicit Guest(const Address& host, const ProcessName& name = name_of_this_process())
      : name_(name), door_(name_, key(), strangers_, true, callbacks_) {
    EXPECT_EQ(door_.ask(decode(host).value(), 0, soon(), &admission_), Status::ok);
    transport_.connect(admission_.transport_address);
  }
  Hello hello() {
    Hello hello;
    hello.from = address();
    hello.of_asked = admission_.pass.of_asked;
    hello.tag = 1;
    const std::vector<std::byte> own = transport_.transport_address();
    hello.proof = key().prove(hello_label,
                              {bytes_of_message(admission_.pass), proven_bytes(hello), Bytes(own)});
    return hello;
  }
  void say(const Hello& hello) {
    transport_.say(hello_id, bytes_of_message(hello), transport_.transport_address());
  }
  // Without waiting.
  void post(const Hello& hello) {
    posted_ = {hello, transport_.transport_address()};
    transport_.post(hello_id, bytes_of_message(posted_.first), posted_.second);
  }
  // The answer to a hello of the host's, which has asked at this guest's door.
  Hello welcome(const Hello& to) const {
    Hello welcome;
    welcome.from = address();
    welcome.of_asked = to.of_asked;
    welcome.index_of_sender = to.index;
    welcome.tag = 1;
    welcome.proof =
        key().prove(welcome_label, {bytes_of_message(pass_of_host_), proven_bytes(welcome)});
    return welcome;
  }
  void progress() {
    transport_.progress();
    door_.handle();
  }
  Address address() const { return encode({name_, door_.place(), 0}); }
  BareTransport& transport() { return transport_; }
  const ProcessName& name() const { return name_; }
  const Nonce& process() const { return name_.nonce; }
  static JobKey key() {
    JobKey key;
    EXPECT_TRUE(JobKey::from_text(our_key, &key));
    return key;
  }

 private:
  const ProcessName name_;
  Strangers strangers_;
  const Door::Callbacks callbacks_{[this](std::uint32_t, const Caller& caller) {
                                     pass_of_host_ = caller.pass;
                                     return transport_.transport_address();
                                   },
                                   [](const ProcessName&) {}};
  Door door_;
  Pass pass_of_host_{};
  Admission admission_;
  BareTransport transport_;
  std::pair<Hello, std::vector<std::byte>> posted_;
};

class ByTransport : public ::testing::Test {
 protected:
  ByTransport() {
    setenv("IW_CLUSTER_KEY", our_key, 1);
    host_ = std::make_unique<Process>(Transport::tcp);
    host_->worker->on_connect([this](PeerId) { connected_++; });
    host_->worker->set_handler(
        0, [](void* context, const Message&) { ++*static_cast<std::atomic<unsigned>*>(context); },
        &heard_);
  }
  ~ByTransport() override {
    unsetenv("IW_CLUSTER_KEY");
    iw::fabric::close_worker(&host_->worker);
  }
  const Address& address() const { return host_->worker->address(); }
  // The guest progresses, too: what was said may be under way.
  bool comes_true(Guest& guest, const std::function<bool()>& what) const {
    const Deadline deadline = soon();
    while (!what() && Clock::now() < deadline) {
      guest.progress();
      host_->worker->progress();
    }
    return what();
  }
  bool is_refused(Guest& guest, std::uint64_t times) const {
    return comes_true(guest, [&] { return host_->fabric->strangers_refused() == times; });
  }

  std::unique_ptr<Process> host_;
  std::atomic<unsigned> connected_{0}, heard_{0};
};

}  // namespace

// [HELLO-7]
TEST_F(ByTransport, APassIsGoodForOneHello) {
  Guest guest(address());
  const Hello hello = guest.hello();
  guest.say(hello);
  EXPECT_TRUE(comes_true(guest, [&] { return connected_ == 1; }));
  EXPECT_EQ(host_->fabric->strangers_refused(), 0u);
  guest.say(hello);  // as somebody would who has recorded it
  EXPECT_TRUE(is_refused(guest, 1));
  EXPECT_EQ(connected_, 1u);
}

// [HELLO-7] Anybody may have said the wrong one.
TEST_F(ByTransport, AHelloWithAWrongProofLeavesThePassToItsOwner) {
  Guest guest(address());
  Hello wrong = guest.hello();
  wrong.tag++;
  guest.say(wrong);
  EXPECT_TRUE(is_refused(guest, 1));
  EXPECT_EQ(connected_, 0u);
  guest.say(guest.hello());
  EXPECT_TRUE(comes_true(guest, [&] { return connected_ == 1; }));
  EXPECT_EQ(host_->fabric->strangers_refused(), 1u);
}

// [HELLO-12]
TEST_F(ByTransport, AHelloWithAnotherTransportAddressEndsThePeer) {
  Guest guest(address());
  guest.say(guest.hello());
  EXPECT_TRUE(comes_true(guest, [&] { return connected_ == 1; }));
  Guest moved(address(), guest.name());
  moved.say(moved.hello());
  EXPECT_TRUE(comes_true(moved, [&] { return connected_ == 2; }));
  EXPECT_FALSE(host_->worker->is_alive(0));
  EXPECT_TRUE(host_->worker->is_alive(1));
}

// [HELLO-7]
TEST(APass, EndsWithItsLifetimeOrWhenItIsUsedUp) {
  Passes passes;
  const Pass first{draw_nonce(), draw_nonce()}, second{draw_nonce(), draw_nonce()};
  const Nonce process = draw_nonce();
  const Deadline then = Clock::now();
  passes.give(first, process, 1, then);
  passes.give(second, process, 1, then + std::chrono::seconds(1));
  Pass found;
  const auto has = [&](const Pass& pass, std::uint32_t worker, Deadline now) {
    return passes.find(pass.of_asked, process, worker, now, &found);
  };
  const Deadline last = then + pass_lifetime - std::chrono::nanoseconds(1);
  EXPECT_TRUE(has(first, 1, last));
  EXPECT_EQ(found.of_asking, first.of_asking);
  EXPECT_FALSE(has(first, 2, last)) << "another worker's";
  EXPECT_FALSE(has(first, 1, then + pass_lifetime));
  EXPECT_TRUE(has(second, 1, then + pass_lifetime));
  passes.use_up(second);
  EXPECT_FALSE(has(second, 1, then + pass_lifetime));
}

// [HELLO-7]
TEST_F(ByTransport, AHelloWithoutAPassOrWithAnothersIsRefused) {
  Guest guest(address()), other(address());
  Hello without = guest.hello();
  without.of_asked = draw_nonce();
  guest.say(without);
  EXPECT_TRUE(is_refused(guest, 1));
  Hello with_anothers = guest.hello();
  with_anothers.of_asked = other.hello().of_asked;
  guest.say(with_anothers);
  EXPECT_TRUE(is_refused(guest, 2));
  other.say(other.hello());
  EXPECT_TRUE(comes_true(other, [&] { return connected_ == 1; })) << "the pass is still its own's";
}

// [HELLO-5]
TEST_F(ByTransport, AHelloOfAnotherVersionIsNamed) {
  Guest guest(address());
  Hello other = guest.hello();
  other.head.version = 7;
  ::testing::internal::CaptureStderr();
  guest.say(other);
  EXPECT_TRUE(is_refused(guest, 1));
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("version 7"), std::string::npos) << log;
  EXPECT_NE(log.find("version " + std::to_string(hello_version)), std::string::npos) << log;
}

// Says what it has found in the host's memory. It leaves the transport's objects in use.
ROLE(gets_a_word_by_the_transport) {
  const auto address = parent.hear_value<Address>();
  const auto* const there = parent.hear_value<const std::uint64_t*>();
  setenv("IW_CLUSTER_KEY", our_key, 1);
  auto& guest = *new Guest(address);
  auto& got = *new std::uint64_t(0);
  guest.transport().ask_for_word(there, &got);
  Hello without = guest.hello();
  without.of_asked = draw_nonce();
  guest.post(without);
  std::atomic<bool> is_over{false};
  std::thread progress([&] {
    while (!is_over) guest.transport().progress();
  });
  parent.hear_text();  // the host has handled both
  is_over = true;
  progress.join();
  parent.say_value(got);
  return 0;
}

// [UCX-16]
TEST_F(ByTransport, AStrangerGetsNoMemoryByTheTransport) {
  const std::uint64_t secret = draw_nonce()[0];
  const Child stranger("gets_a_word_by_the_transport");
  stranger.line().say_value(address());
  stranger.line().say_value(&secret);
  EXPECT_EQ(host_->worker->wait([&] { return host_->fabric->strangers_refused() == 1; }, soon()),
            Status::ok);
  stranger.line().say("look");
  EXPECT_NE(stranger.line().hear_value<std::uint64_t>(), secret);
}

namespace {

// Listening at an address of the network, of this process.
int listening_sockets() {
  int count = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(each.path().filename());
    int domain = 0, is_listening = 0;
    socklen_t size = sizeof domain;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0) continue;
    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size);
    if (is_listening != 0 && domain != AF_UNIX) count++;
  }
  return count;
}

}  // namespace

// [HELLO-1]
TEST(WithoutAKey, OnlyTheDoorListensUnlessAPersonAskedForTcp) {
  {
    const Process here(Transport::automatic);
    EXPECT_EQ(listening_sockets(), 1);
    const Process there(Transport::automatic);
    EXPECT_TRUE(here.worker->is_alive(here.connect(there.worker->address())));
  }
  const Process here(Transport::tcp);
  EXPECT_GT(listening_sockets(), 1);
}

// [UCX-16] The program may make a segment while a worker is made.
TEST(SharedMemory, OfAnotherModeThanTheTransportsStaysAsItIs) {
  const auto before = mapped_segments();
  ASSERT_TRUE(before.has_value());
  const std::pair<unsigned, unsigned> modes[] = {{0660, 0600}, {0640, 0640}, {0666, 0666}};
  std::vector<std::pair<int, void*>> made;
  for (const auto& [mode, afterwards] : modes) {
    const int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | static_cast<int>(mode));
    made.emplace_back(id, shmat(id, nullptr, 0));
    shmctl(id, IPC_RMID, nullptr);
  }
  EXPECT_TRUE(close_new_segments_to_others(*before));
  for (std::size_t i = 0; i < made.size(); i++) {
    shmid_ds is{};
    EXPECT_EQ(shmctl(made[i].first, IPC_STAT, &is), 0);
    EXPECT_EQ(is.shm_perm.mode & 0777, modes[i].second) << i;
    shmdt(made[i].second);
  }
}

// [UCX-16]
TEST(SharedMemory, IsTheUsersOnly) {
  const Process here(Transport::shm);
  Status status;
  const auto memory = here.fabric->allocate(4096, &status);
  const auto segments = mapped_segments().value();
  EXPECT_GT(segments.size(), 1u) << "the transport's, and the memory";
  for (const int id : segments) {
    shmid_ds is{};
    ASSERT_EQ(shmctl(id, IPC_STAT, &is), 0);
    EXPECT_EQ(is.shm_perm.mode & 0777, 0600u) << id;
  }
}

TEST_F(ByTransport, AMessageOfAnotherProgramIsNotSaidToBeOfAnotherVersion) {
  Guest guest(address());
  Hello other = guest.hello();
  other.head.magic++;
  ::testing::internal::CaptureStderr();
  guest.say(other);
  EXPECT_TRUE(is_refused(guest, 1));
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("not an InterWeave process"), std::string::npos) << log;
  EXPECT_EQ(log.find("version"), std::string::npos) << log;
}

// [HELLO-11] No adapter is needed to tell which endpoints are to be closed.
TEST(CalledEndpoints, EndWithoutAHelloInTime) {
  CalledEndpoints called;
  const auto endpoint = [](std::uintptr_t number) { return reinterpret_cast<ucp_ep_h>(number); };
  const Deadline now = Clock::now();
  called.add(endpoint(8), now);
  called.add(endpoint(16), now + std::chrono::seconds(1));
  called.add(endpoint(24), now);
  called.add(endpoint(32), Deadline::max());
  EXPECT_TRUE(called.take(endpoint(24))) << "its hello was taken";
  EXPECT_EQ(called.take_late(now), std::vector{endpoint(8)});
  EXPECT_FALSE(called.take(endpoint(8)));
  EXPECT_EQ(called.take_late(now + std::chrono::hours(1)), std::vector{endpoint(16)});
  EXPECT_EQ(called.take_all(), std::vector{endpoint(32)});
  EXPECT_EQ(called.size(), 0u);
}

// [UCX-17] The transport warns, at best, of a number that is not in its table.
TEST_F(ByTransport, AMessageOfAnyNumberIsDropped) {
  Guest guest(address());
  ::testing::internal::CaptureStdout();
  for (const unsigned id : {message_ids - 1u, 200u, 256u, 4096u, 65535u}) {
    guest.transport().say(id, {}, {});
    guest.transport().say(id, bytes_of_message(id), bytes_of_message(id));
  }
  guest.say(guest.hello());
  EXPECT_TRUE(comes_true(guest, [&] { return connected_ == 1; }));
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

// [HELLO-8] A peer of the host is at place 0. The host drops messages and goodbyes in the peer's
// name that lack the peer's tag. Messages on one way arrive in order, so the hello is the last.
TEST_F(ByTransport, AGuessedTagReachesNobody) {
  const Process peer(Transport::tcp);
  const PeerId host_there = peer.connect(address());
  const Child stranger("says_with_guessed_tags");
  stranger.line().say_value(address());
  EXPECT_EQ(stranger.line().hear_text(), "said");
  EXPECT_TRUE(host_->worker->wait([&] { return host_->fabric->strangers_refused() == 1; },
                                  soon()) == Status::ok);
  EXPECT_EQ(heard_, 0u);
  EXPECT_TRUE(host_->worker->is_alive(0));
  EXPECT_EQ(peer.worker->send(host_there, 0, {}, {}, nullptr), Status::ok);
  EXPECT_EQ(host_->worker->wait([&] { return heard_ == 1; }, soon()), Status::ok);
  stranger.line().say("that is all");
}

// [HELLO-8] The host connects to the guest, who has heard the host's tag and not yet said welcome.
TEST_F(ByTransport, AGoodbyeBeforeTheWelcomeIsDropped) {
  Guest guest(address());
  PeerId peer = 0;
  auto connecting = std::async(
      std::launch::async, [&] { return host_->worker->connect(guest.address(), soon(), &peer); });
  Hello hello;
  ASSERT_TRUE(comes_true(guest, [&] { return guest.transport().last(hello_id, &hello); }));
  const auto say_goodbye = [&] {
    guest.transport().say(goodbye_id, bytes_of_message(hello.tag), {});
  };
  say_goodbye();
  Hello without = guest.hello();
  without.of_asked = draw_nonce();
  guest.say(without);
  EXPECT_TRUE(is_refused(guest, 1)) << "what was said before has arrived";
  EXPECT_TRUE(host_->worker->is_alive(0));
  guest.transport().say(welcome_id, bytes_of_message(guest.welcome(hello)), {});
  EXPECT_EQ(connecting.get(), Status::ok);
  say_goodbye();
  EXPECT_TRUE(comes_true(guest, [&] { return !host_->worker->is_alive(peer); }));
}

namespace {

constexpr std::uint64_t guesses[] = {0, 1, std::uint64_t{1} << 24};

}  // namespace

// [HELLO-8] A request for memory counts only with its asker's tag.
TEST_F(ByTransport, ARequestWithAGuessedTagReachesNoMemory) {
  const Process peer(Transport::tcp);
  peer.connect(address());
  Status status;
  const auto memory = host_->fabric->allocate(64, &status);
  Bytes own_key;
  const auto key = decode(memory->key(), &own_key);
  ASSERT_TRUE(key.has_value());
  Guest guest(address());
  for (const std::uint64_t tag : guesses) {
    const Request request{
        .tag = tag, .access = Access::fetch_add, .region = key->region, .operand = 1};
    guest.transport().say(request_id, {}, bytes_of_message(request));
  }
  Hello without = guest.hello();
  without.of_asked = draw_nonce();
  guest.say(without);
  EXPECT_TRUE(is_refused(guest, 1)) << "what was said before has arrived";
  EXPECT_EQ(memory->bytes()[0], std::byte{0});
}

// [HELLO-8] The guest has memory that the host asks for. Another that knows the token of the
// request, and not the guest's tag, does not answer it.
TEST_F(ByTransport, AnAnswerWithAGuessedTagIsDropped) {
  Guest guest(address());
  guest.say(guest.hello());
  EXPECT_TRUE(comes_true(guest, [&] { return connected_ == 1; }));
  const MemoryKey made_up{.size = 64, .process_nonce = guest.process()};
  Status status;
  const auto window = host_->worker->open(0, encode(made_up, {}), &status);
  ASSERT_EQ(status, Status::ok);
  struct Told : Completion {
    unsigned times = 0;
  } told;
  told.done = [](Completion& self, Status) { static_cast<Told&>(self).times++; };
  std::uint64_t before = 0;
  EXPECT_EQ(host_->worker->fetch_add(*window, 0, 1, &before, &told), Status::pending);
  Request asked;
  Hello welcome;
  EXPECT_TRUE(comes_true(guest, [&] { return guest.transport().last(request_id, &asked); }));
  ASSERT_TRUE(guest.transport().last(welcome_id, &welcome));
  EXPECT_EQ(asked.tag, 1u) << "as the guest's hello said";
  Answer answer{.token = asked.token};
  for (const std::uint64_t tag : guesses) {
    answer.tag = tag;
    answer.before = 7;
    guest.transport().say(answer_id, {}, bytes_of_message(answer));
  }
  answer.tag = welcome.tag;
  answer.before = 8;
  guest.transport().say(answer_id, {}, bytes_of_message(answer));
  EXPECT_TRUE(comes_true(guest, [&] { return told.times > 0; }));
  EXPECT_EQ(before, 8u);
}

ROLE(says_with_guessed_tags) {
  const auto address = parent.hear_value<Address>();
  setenv("IW_CLUSTER_KEY", our_key, 1);
  Guest guest(address);
  for (const std::uint64_t tag : guesses) {
    const Prefix prefix{tag};
    guest.transport().say(0, {}, std::as_bytes(std::span(&prefix, 1)));
    guest.transport().say(goodbye_id, std::as_bytes(std::span(&tag, 1)), {});
  }
  // Nor does a message without a handler end the host.
  for (const unsigned id : {message_ids - 1u, 200u}) guest.transport().say(id, {}, {});
  Hello without = guest.hello();
  without.of_asked = draw_nonce();
  guest.say(without);
  parent.say("said");
  return parent.hear_text() == "that is all" ? 0 : 1;
}
