// A daemon, and processes that take part through it. They can do what direct nodes can. Each side
// copes when the other is killed or stopped.
#include "ddss/daemon.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <filesystem>
#include <fstream>
#include <latch>
#include <map>
#include <mutex>
#include <thread>

#include "ddss/daemon_socket.h"
#include "ddss/ddss_fixture.h"

using namespace iw::ddss;

namespace {

std::string line_from(int fd) {
  std::string line;
  for (char c; read(fd, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

// The program, on a socket of its own.
class DaemonProcess {
 public:
  explicit DaemonProcess(const std::string& join = "", const std::string& path = new_path(),
                         const rlimit* open_files = nullptr,
                         const std::map<std::string, std::string>& environment = {})
      : path_(path) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      if (open_files != nullptr) setrlimit(RLIMIT_NOFILE, open_files);
      for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
      if (join.empty()) {
        execl(DDSS_DAEMON, DDSS_DAEMON, "--socket", path_.c_str(), nullptr);
      } else {
        execl(DDSS_DAEMON, DDSS_DAEMON, "--socket", path_.c_str(), "--join", join.c_str(), nullptr);
      }
      _exit(70);
    }
    close(ends[1]);
    EXPECT_EQ(line_from(ends[0]), "listening " + path_);
    address_ = line_from(ends[0]).substr(sizeof "address");
    close(ends[0]);
  }
  ~DaemonProcess() {
    end(SIGKILL);
    std::filesystem::remove(path_);
  }
  pid_t pid() const { return pid_; }
  const std::string& path() const { return path_; }
  const std::string& address() const { return address_; }
  void signal(int number) const { ::kill(pid_, number); }
  void stop() const {
    signal(SIGSTOP);
    waitpid(pid_, nullptr, WUNTRACED);
  }
  int end(int number) {
    if (pid_ < 0) return 0;
    signal(number);
    signal(SIGCONT);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }

  static std::string new_path() {
    static int count = 0;
    return std::filesystem::temp_directory_path() /
           ("ddss-" + std::to_string(getpid()) + "-" + std::to_string(count++));
  }

 private:
  std::string path_, address_;
  pid_t pid_ = -1;
};

// Runs the program, which must end by itself. Returns its status; *said is what it complained of.
int run_daemon(const std::string& path, std::string* said) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], STDERR_FILENO);
    execl(DDSS_DAEMON, DDSS_DAEMON, "--socket", path.c_str(), nullptr);
    _exit(70);
  }
  close(ends[1]);
  *said = line_from(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

int init_through(const std::string& path, unsigned timeout_ms = patient_ms) {
  ddss_options_t options{};
  options.daemon = path.c_str();
  options.timeout_ms = timeout_ms;
  return ddss_init(&options);
}

}  // namespace

// Each of eight threads counts under the lock, and puts and gets under the implicit lock.
ROLE(threads) {
  if (init_through(parent.hear_text()) != 0) return 1;
  const ddss_key_t counter = key_of(parent.hear_text()), strict = key_of(parent.hear_text());
  std::atomic<int> failures{0};
  std::vector<std::thread> all;
  for (int i = 0; i < 8; i++) {
    all.emplace_back([&] {
      for (int k = 0; k < 25; k++) {
        std::uint64_t value = 0;
        failures += ddss_acquire_lock(counter) != 0;
        failures += ddss_get(counter, &value, 8) != 0;
        value++;
        failures += ddss_put(counter, &value, 8) != 0;
        failures += ddss_release_lock(counter) != 0;
        std::uint64_t words[4] = {value, value, value, value};
        failures += ddss_put(strict, words, sizeof words) != 0;
        failures += ddss_get(strict, words, sizeof words) != 0;
        failures += words[0] != words[3];
      }
    });
  }
  for (std::thread& each : all) each.join();
  return failures == 0 && ddss_finish() == 0 ? 0 : 2;
}

// Holds the lock until it is told otherwise.
ROLE(holder) {
  if (init_through(parent.hear_text()) != 0) return 1;
  parent.say_value(ddss_acquire_lock(key_of(parent.hear_text())));
  parent.hear();
  return 0;
}

class Daemons : public ::testing::Test {
 protected:
  ~Daemons() override { ddss_finish(); }
  DaemonProcess daemon_;
};

// [DDSS-CHANNEL-1]
TEST_F(Daemons, ServeTwoProgramsOfEightThreads) {
  ASSERT_EQ(init_through(daemon_.path()), 0) << ddss_error_text(ddss_errno());
  EXPECT_EQ(ddss_node(), 0);
  EXPECT_EQ(ddss_nodes(), 1);
  EXPECT_EQ(std::string(ddss_address()), daemon_.address());
  const ddss_key_t counter = ddss_allocate(8, DDSS_NULL, nullptr);
  const ddss_key_t strict = ddss_allocate(32, DDSS_STRICT, nullptr);
  ASSERT_NE(counter, 0u);
  Child programs[] = {Child("threads"), Child("threads")};
  for (const Child& each : programs) {
    each.line().say(daemon_.path());
    each.line().say(text_of(counter));
    each.line().say(text_of(strict));
  }
  for (Child& each : programs) EXPECT_EQ(each.wait_for_end(), 0);
  std::uint64_t value = 0;
  ASSERT_EQ(ddss_get(counter, &value, 8), 0);
  EXPECT_EQ(value, 2u * 8 * 25);
}

// [DDSS-CHANNEL-2] [FAB-1]
TEST_F(Daemons, RefuseRequestsWithNumbersThatMeanNothing) {
  const auto end = ChannelEnd::offer(connect_to_daemon(daemon_.path()));
  ASSERT_NE(end, nullptr);
  Channel& channel = end->channel();
  std::uint32_t number = 0;
  const auto result_of = [&](const Request& request) {
    Channel::Slot& slot = channel.slot(number);
    slot.request = request;
    slot.state = SlotState::asked;
    count_up(channel.submitted, channel.daemon_sleeps);
    while (!await_change(channel.answered, number, channel.client_sleeps, {})) {
    }
    number++;
    return slot.answer.result;
  };
  const Request sound{.call = Call::nodes};
  EXPECT_EQ(result_of(sound), 1);
  std::vector<Request> wrong(5, sound);
  wrong[0].call = static_cast<Call>(16);
  wrong[1].call = static_cast<Call>(~0u);
  wrong[2].which = static_cast<Which>(3);
  wrong[3].hold = static_cast<Hold>(2);
  wrong[4].model = DDSS_TEMPORAL + 1;
  for (const Request& each : wrong) EXPECT_EQ(result_of(each), DDSS_EARGUMENT);
  EXPECT_EQ(result_of(sound), 1);
}

TEST_F(Daemons, DoAllThatANodeDoes) {
  DaemonProcess second(daemon_.address());
  ASSERT_EQ(init_through(daemon_.path()), 0);
  ASSERT_EQ(ddss_await_nodes(2), 0);
  ddss_allocation_t how{};
  how.placement = DDSS_NODE;
  how.node = 1;
  how.name = "a name";
  how.keep = 2;
  int was_created = 0;
  how.was_created = &was_created;
  const ddss_key_t key = ddss_allocate(1 << 20, DDSS_DELTA, &how);
  ASSERT_NE(key, 0u);
  EXPECT_EQ(was_created, 1);
  EXPECT_EQ(ddss_allocate(1 << 20, DDSS_DELTA, &how), key);
  EXPECT_EQ(was_created, 0);
  ddss_description_t is;
  ASSERT_EQ(ddss_describe(key, &is), 0);
  EXPECT_EQ(is.data_node, 1);
  EXPECT_EQ(is.nbytes, std::size_t{1} << 20);
  const auto first = pattern(1 << 20, 1), other = pattern(1 << 20, 2);
  std::vector<std::uint8_t> got(1 << 20);
  ASSERT_EQ(ddss_put(key, first.data(), first.size()), 0);
  ASSERT_EQ(ddss_put(key, other.data(), other.size()), 0);
  ASSERT_EQ(ddss_get(key, got.data(), got.size()), 0);
  EXPECT_EQ(got, other);
  ASSERT_EQ(ddss_get_version(key, got.data(), got.size(), 1), 0);
  EXPECT_EQ(got, first);
  std::uint64_t version = 1;
  EXPECT_EQ(ddss_get_if_newer(key, got.data(), got.size(), &version), 0);
  EXPECT_EQ(version, 2u);
  EXPECT_EQ(ddss_get_if_newer(key, got.data(), got.size(), &version), DDSS_UNCHANGED);
  EXPECT_EQ(ddss_try_lock(key), 0);
  std::thread([&] { EXPECT_EQ(ddss_try_lock(key), DDSS_EBUSY); }).join();
  EXPECT_EQ(ddss_release_lock(key), 0);
  EXPECT_EQ(ddss_release(key), 0);
  EXPECT_EQ(ddss_get(key, got.data(), 1), DDSS_ENOKEY);
}

TEST_F(Daemons, ChangeWordsAtOnceAndHoldBarriers) {
  ASSERT_EQ(init_through(daemon_.path()), 0);
  const ddss_key_t key = ddss_allocate(16, DDSS_NULL, nullptr);
  std::uint64_t before = 1;
  EXPECT_EQ(ddss_fetch_add(key, 8, 5, &before), 0);
  EXPECT_EQ(before, 0u);
  EXPECT_EQ(ddss_compare_swap(key, 8, 5, 9, &before), 0);
  EXPECT_EQ(before, 5u);
  EXPECT_EQ(ddss_compare_swap(key, 8, 5, 7, &before), 0);
  EXPECT_EQ(before, 9u);
  std::thread other([&] { EXPECT_EQ(ddss_barrier(key, 2), 0); });
  EXPECT_EQ(ddss_barrier(key, 2), 0);
  other.join();
  EXPECT_EQ(ddss_fetch_add(key, 12, 1, &before), DDSS_EARGUMENT);
  EXPECT_EQ(ddss_local(key), nullptr);
  EXPECT_EQ(ddss_errno(), DDSS_ENOTLOCAL);
}

TEST_F(Daemons, TakeMoreAtOnceThanTheRingHolds) {
  ASSERT_EQ(init_through(daemon_.path()), 0);
  std::vector<ddss_key_t> keys;
  std::vector<std::vector<std::uint8_t>> sent, got(20, std::vector<std::uint8_t>(100));
  std::vector<ddss_operation_t*> operations;
  for (unsigned i = 0; i < 20; i++) {
    keys.push_back(ddss_allocate(100, DDSS_NULL, nullptr));
    sent.push_back(pattern(100, i));
    operations.push_back(ddss_async_put(keys[i], sent[i].data(), 100));
  }
  for (ddss_operation_t* each : operations) EXPECT_EQ(ddss_wait(each), 0);
  operations.clear();
  for (unsigned i = 0; i < 20; i++) {
    operations.push_back(ddss_async_get(keys[i], got[i].data(), 100));
  }
  for (ddss_operation_t* each : operations) EXPECT_EQ(ddss_wait(each), 0);
  EXPECT_EQ(got, sent);
  std::vector<std::uint8_t> too_much((4 << 20) + 1);
  EXPECT_EQ(ddss_put(keys[0], too_much.data(), too_much.size()), DDSS_EARGUMENT);
}

// [DDSS-CHANNEL-4]
TEST_F(Daemons, LetGoOfTheLocksOfAProcessThatIsKilled) {
  ASSERT_EQ(init_through(daemon_.path()), 0);
  const ddss_key_t key = ddss_allocate(8, DDSS_NULL, nullptr);
  Child holder("holder");
  holder.line().say(daemon_.path());
  holder.line().say(text_of(key));
  ASSERT_EQ(holder.line().hear_value<int>(), 0);
  EXPECT_EQ(ddss_try_lock(key), DDSS_EBUSY);
  holder.stop();
  EXPECT_EQ(ddss_try_lock(key), DDSS_EBUSY) << "a stopped process may continue";
  holder.kill();
  EXPECT_EQ(ddss_acquire_lock(key), 0);
  EXPECT_EQ(ddss_release_lock(key), 0);
}

TEST_F(Daemons, AreNotHeldUpByAProcessThatIsKilledWhileItWaits) {
  ASSERT_EQ(init_through(daemon_.path(), 5000), 0);
  const ddss_key_t key = ddss_allocate(8, DDSS_NULL, nullptr);
  Child holder("holder"), waiter("holder");
  for (Child* each : {&holder, &waiter}) {
    each->line().say(daemon_.path());
    each->line().say(text_of(key));
    if (each == &holder) {
      ASSERT_EQ(holder.line().hear_value<int>(), 0);
    }
  }
  for (std::uint64_t word = 0; (word >> 32 & 0xffff) != 2;) {
    ASSERT_EQ(ddss_lock_word(key, &word), 0);
  }
  waiter.kill();
  std::thread([&] { EXPECT_EQ(ddss_try_lock(key), DDSS_EBUSY); }).join();  // on a new channel
  holder.kill();
  EXPECT_EQ(ddss_acquire_lock(key), 0);
  EXPECT_EQ(ddss_release_lock(key), 0);
}

// A daemon whose calls wait longer than any test.
ROLE(patient_daemon) {
  std::string why;
  Failure failure;
  NodeOptions options;
  options.timeout = std::chrono::hours(1);
  const auto socket = DaemonSocket::open(parent.hear_text(), &why);
  const auto node = Node::open(options, &failure);
  if (socket == nullptr || node == nullptr) return 1;
  Daemon daemon(*node, *socket, std::chrono::microseconds(20));
  parent.say("listening");
  daemon.run();
  return 0;
}

namespace {

// The channels that a process has mapped.
int channels_of(pid_t pid) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/memfd:ddss ") != std::string::npos) count++;
  }
  return count;
}

}  // namespace

TEST(DaemonsThatWaitLong, KeepNothingOfAProcessThatIsKilledWhileItWaits) {
  const std::string path = DaemonProcess::new_path();
  const Child daemon("patient_daemon");
  daemon.line().say(path);
  ASSERT_EQ(daemon.line().hear_text(), "listening");
  ASSERT_EQ(init_through(path), 0);
  const ddss_key_t key = ddss_allocate(8, DDSS_NULL, nullptr);
  ASSERT_EQ(ddss_acquire_lock(key), 0);
  Child waiter("holder");
  waiter.line().say(path);
  waiter.line().say(text_of(key));
  for (std::uint64_t word = 0; (word >> 32 & 0xffff) != 2;) {
    ASSERT_EQ(ddss_lock_word(key, &word), 0);
  }
  EXPECT_EQ(channels_of(daemon.pid()), 2);
  waiter.kill();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(patient_ms);
  while (channels_of(daemon.pid()) > 1 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_EQ(channels_of(daemon.pid()), 1);
  EXPECT_EQ(ddss_release_lock(key), 0);
  EXPECT_EQ(ddss_acquire_lock(key), 0) << "who is gone holds nobody up";
  EXPECT_EQ(ddss_release_lock(key), 0);
  EXPECT_EQ(ddss_finish(), 0);
  std::filesystem::remove(path);
}

TEST_F(Daemons, ThatAreKilledAreReported) {
  ASSERT_EQ(init_through(daemon_.path()), 0);
  const ddss_key_t key = ddss_allocate(8, DDSS_NULL, nullptr);
  std::uint64_t value = 0;
  ASSERT_EQ(ddss_get(key, &value, 8), 0);
  daemon_.end(SIGKILL);
  EXPECT_EQ(ddss_get(key, &value, 8), DDSS_ENODE);
  EXPECT_EQ(ddss_put(key, &value, 8), DDSS_ENODE);
}

// Obeys orders with the key, and answers each: g(et), e(xclusive lock), r(elease), p(ut),
// a(synchronous puts of 1 to 8, as many as the ring holds), w(ait for them).
ROLE(impatient) {
  const std::string path = parent.hear_text();
  parent.say_value(answered([&] { return init_through(path, impatient_ms); }));
  std::uint64_t values[] = {1, 2, 3, 4, 5, 6, 7, 8}, value = 9;
  std::vector<ddss_operation_t*> operations;
  for (;;) {
    const std::string order = parent.hear_text();
    const ddss_key_t key = key_of(parent.hear_text());
    int result = 0;
    if (order == "g") result = ddss_get(key, &value, sizeof value);
    if (order == "e") result = ddss_acquire_lock(key);
    if (order == "r") result = ddss_release_lock(key);
    if (order == "p") result = ddss_put(key, &value, sizeof value);
    if (order == "a") {
      for (auto& each : values) operations.push_back(ddss_async_put(key, &each, sizeof each));
    }
    if (order == "w") {
      for (ddss_operation_t* each : operations) result = std::min(result, ddss_wait(each));
    }
    parent.say_value(result);
  }
}

// With a process whose calls do not wait long.
class DaemonsOfTheImpatient : public Daemons {
 protected:
  DaemonsOfTheImpatient() {
    impatient_.line().say(daemon_.path());
    EXPECT_EQ(impatient_.line().hear_value<int>(), 0);
    EXPECT_EQ(init_through(daemon_.path()), 0);
  }
  int tell(const char* order, ddss_key_t key) const {
    impatient_.line().say(std::string(order));
    impatient_.line().say(text_of(key));
    return impatient_.line().hear_value<int>();
  }
  int tell_until_answered(const char* order, ddss_key_t key) const {
    return answered([&] { return tell(order, key); });
  }
  Child impatient_{"impatient"};
};

TEST_F(DaemonsOfTheImpatient, ThatAreStoppedAreWaitedForUntilTheTimeIsOver) {
  const ddss_key_t key = allocate_on(0, 8, DDSS_NULL), other = allocate_on(0, 8, DDSS_NULL);
  ASSERT_EQ(tell_until_answered("e", key), 0);
  daemon_.stop();
  EXPECT_EQ(tell("g", key), DDSS_ETIMEDOUT);
  EXPECT_EQ(tell("e", other), DDSS_ETIMEDOUT);
  daemon_.signal(SIGCONT);
  EXPECT_EQ(tell_until_answered("g", key), 0);
  EXPECT_EQ(ddss_try_lock(key), DDSS_EBUSY) << "the other still has it";
  EXPECT_EQ(ddss_try_lock(other), 0) << "this one it never got";
  EXPECT_EQ(tell_until_answered("r", other), DDSS_ENOTHELD);
  tell_until_answered("r", key);  // a release that was answered too late may have done it already
  EXPECT_EQ(ddss_acquire_lock(key), 0);
}

TEST_F(DaemonsOfTheImpatient, StoppedForLongerThanTheRingHoldsSayThatTheTimeIsOver) {
  const ddss_key_t key = allocate_on(0, 8, DDSS_NULL);
  daemon_.stop();
  EXPECT_EQ(tell("a", key), 0);
  EXPECT_EQ(tell("p", key), DDSS_ETIMEDOUT);
  daemon_.signal(SIGCONT);
  for (std::uint64_t value = 0; value != 8;) ASSERT_EQ(ddss_get(key, &value, 8), 0);
  EXPECT_EQ(tell("w", key), 0) << "all are done";
}

// [DDSS-CHANNEL-3]
TEST_F(DaemonsOfTheImpatient, LetGoOfALockThatComesTooLate) {
  const ddss_key_t late = allocate_on(0, 8, DDSS_NULL), kept = allocate_on(0, 8, DDSS_NULL);
  ASSERT_EQ(ddss_acquire_lock(late), 0);
  ASSERT_EQ(tell_until_answered("e", kept), 0);
  EXPECT_EQ(tell("e", late), DDSS_ETIMEDOUT);
  EXPECT_EQ(ddss_try_lock(kept), DDSS_EBUSY) << "held by a thread whose call timed out";
  EXPECT_EQ(ddss_release_lock(late), 0);
  EXPECT_EQ(ddss_acquire_lock(late), 0) << "the daemon got it for one who did not wait any longer";
  EXPECT_EQ(ddss_release_lock(late), 0);
  EXPECT_EQ(tell_until_answered("r", late), DDSS_ENOTHELD);
  tell_until_answered("r", kept);
  EXPECT_EQ(ddss_acquire_lock(kept), 0);
}

// Otherwise the daemon would hold the locks until the thread ends.
TEST_F(Daemons, LetGoOfTheLocksOfAProcessThatFinishes) {
  ASSERT_EQ(init_through(daemon_.path()), 0);
  const ddss_key_t key = ddss_allocate(8, DDSS_NULL, nullptr);
  std::latch is_locked(1), is_over(1);
  std::thread holder([&] {
    EXPECT_EQ(ddss_acquire_lock(key), 0);
    is_locked.count_down();
    is_over.wait();
  });
  is_locked.wait();
  EXPECT_EQ(ddss_finish(), 0);
  ASSERT_EQ(init_through(daemon_.path()), 0);
  EXPECT_EQ(ddss_acquire_lock(key), 0);
  EXPECT_EQ(ddss_release_lock(key), 0);
  is_over.count_down();
  holder.join();
}

TEST_F(Daemons, AreNotWaitedForByAProcessThatFinished) {
  ASSERT_EQ(init_through(daemon_.path()), 0);
  const ddss_key_t key = ddss_allocate(8, DDSS_NULL, nullptr);
  std::uint64_t value = 1;
  daemon_.stop();
  ddss_operation_t* put = ddss_async_put(key, &value, 8);
  EXPECT_EQ(ddss_finish(), 0);
  EXPECT_EQ(ddss_wait(put), DDSS_ENOTINIT);
  daemon_.signal(SIGCONT);
}

TEST_F(Daemons, AreNotPutOutOfTheirPlaceByASecond) {
  daemon_.stop();  // it need not answer
  std::string said;
  const int status = run_daemon(daemon_.path(), &said);
  daemon_.signal(SIGCONT);
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_EQ(said, "interweave-ddss: " + daemon_.path() + ": process " +
                      std::to_string(daemon_.pid()) + " listens there already");
  EXPECT_EQ(init_through(daemon_.path()), 0);
  EXPECT_EQ(ddss_nodes(), 1);
}

TEST_F(Daemons, TakeThePlaceOfOneThatDied) {
  const std::string path = daemon_.path();
  daemon_.end(SIGKILL);
  ASSERT_TRUE(std::filesystem::exists(path)) << "it was left behind";
  const DaemonProcess second("", path);
  EXPECT_EQ(init_through(path), 0);
  EXPECT_EQ(ddss_nodes(), 1);
}

namespace {

// The results of two calls of each of so many threads, which all run at once.
std::map<std::pair<int, int>, int> calls_of_threads(int count) {
  std::mutex mutex;
  std::map<std::pair<int, int>, int> results;
  std::barrier all(count);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; i++) {
    threads.emplace_back([&] {
      const int first = ddss_nodes();
      all.arrive_and_wait();
      const int second = ddss_nodes();
      all.arrive_and_wait();
      const std::lock_guard held(mutex);
      results[{first, second}]++;
    });
  }
  for (std::thread& each : threads) each.join();
  return results;
}

rlimit limit_of_open_files() {
  rlimit limit{};
  EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = 64;
  return limit;
}

}  // namespace

TEST(DaemonsThatMayOpenFewFiles, OpenMoreIfTheyMay) {
  const rlimit limit = limit_of_open_files();
  const DaemonProcess daemon("", DaemonProcess::new_path(), &limit);
  ASSERT_EQ(init_through(daemon.path()), 0);
  EXPECT_EQ(calls_of_threads(100), (std::map<std::pair<int, int>, int>{{{1, 1}, 100}}));
  EXPECT_EQ(ddss_finish(), 0);
}

TEST(DaemonsThatMayOpenFewFiles, TellThoseWhomTheyCannotServe) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer looks at memory by way of a pipe, and where it gets none it takes "
                  "a sound object for a broken one and ends the daemon";
#endif
  rlimit limit = limit_of_open_files();
  limit.rlim_max = limit.rlim_cur;
  const DaemonProcess daemon("", DaemonProcess::new_path(), &limit);
  ASSERT_EQ(init_through(daemon.path()), 0);
  auto results = calls_of_threads(100);
  const int served = results[{1, 1}], refused = results[{DDSS_EFULL, DDSS_EFULL}];
  EXPECT_GT(served, 0);
  EXPECT_GT(refused, 100 - 64);
  EXPECT_EQ(served + refused, 100);
  // Served when the daemon has noticed that the other threads have ended.
  int result = DDSS_EFULL;
  while (result == DDSS_EFULL) std::thread([&] { result = ddss_nodes(); }).join();
  EXPECT_EQ(result, 1);
  EXPECT_EQ(ddss_finish(), 0);
}

TEST(DaemonsThatMayStartFewThreads, TellThoseWhomTheyCannotServe) {
  const DaemonProcess daemon("", DaemonProcess::new_path(), nullptr, iw::testing::few_threads(20));
  ASSERT_EQ(init_through(daemon.path()), 0);
  auto results = calls_of_threads(40);
  const int served = results[{1, 1}], refused = results[{DDSS_EFULL, DDSS_EFULL}];
  EXPECT_GT(served, 0);
  EXPECT_GE(refused, 20);
  EXPECT_EQ(served + refused, 40);
  EXPECT_EQ(ddss_nodes(), 1) << "a thread that it serves is still served";
  EXPECT_EQ(ddss_finish(), 0);
}

TEST_F(Daemons, EndWhenTheyAreTold) {
  ASSERT_EQ(init_through(daemon_.path()), 0);
  EXPECT_EQ(ddss_nodes(), 1);
  const int status = daemon_.end(SIGTERM);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(init_through(daemon_.path()), DDSS_EARGUMENT) << "once a process";
  ddss_finish();
  EXPECT_EQ(init_through(daemon_.path()), DDSS_EUNREACHABLE) << "nobody is there";
}
