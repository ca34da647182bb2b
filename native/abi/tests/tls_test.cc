// Segments behind iws:// URLs [MIP-2] [NET-5]: a real server with real certificates.
#include "platform/tls.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "abi/tests/authority.h"
#include "abi/tests/server_process.h"
#include "interweave.h"
#include "platform/clock.h"
#include "platform/file_descriptor.h"
#include "platform/process.h"
#include "platform/socket.h"
#include "platform/tls_contexts.h"

namespace iw::test {
namespace {

IW_handle_t open(const std::string& url) {
  IW_open_options options{};
  options.size = sizeof options;
  options.flags = IW_CREATE;
  options.timeout = 10;
  return IW_open_segment_with(url.c_str(), &options);
}

void expect_refused(const std::string& url, int code, const std::string& words) {
  EXPECT_EQ(open(url), nullptr);
  EXPECT_EQ(IW_errno(), code) << IW_strerror();
  EXPECT_NE(std::string(IW_strerror()).find(words), std::string::npos) << IW_strerror();
}

// Stands between a client and the server, byte by byte, and can spoil what the server says.
class Between {
 public:
  explicit Between(const std::string& server) : server_(server) {
    listening_ = platform::FileDescriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listening_.get(), any, size), 0);
    EXPECT_EQ(listen(listening_.get(), 8), 0);
    EXPECT_EQ(getsockname(listening_.get(), any, &size), 0);
    port_ = std::to_string(ntohs(address.sin_port));
    accepting_ = std::thread([this] { accept_all(); });
  }
  ~Between() {
    shutdown(listening_.get(), SHUT_RDWR);
    accepting_.join();
    end();
    for (std::thread& one : carrying_) one.join();
  }
  Between(const Between&) = delete;
  Between& operator=(const Between&) = delete;

  [[nodiscard]] const std::string& port() const { return port_; }

  // A TLS record that no key fits.
  void spoil() {
    const std::lock_guard lock(mutex_);
    const std::string record("\x17\x03\x03\x00\x20 these bytes are of no key at all", 5 + 32);
    EXPECT_EQ(::send(pairs_.back().first.get(), record.data(), record.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(record.size()));
  }
  // The end of the connections without a close_notify.
  void end() {
    const std::lock_guard lock(mutex_);
    for (auto& [client, server] : pairs_) {
      shutdown(client.get(), SHUT_RDWR);
      shutdown(server.get(), SHUT_RDWR);
    }
  }

 private:
  void accept_all() {
    while (true) {
      platform::FileDescriptor client(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client) return;
      platform::FileDescriptor server(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      const std::size_t colon = server_.rfind(':');
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(server_.substr(colon + 1))));
      if (connect(server.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return;
      const std::lock_guard lock(mutex_);
      const int ends[] = {client.get(), server.get()};
      pairs_.emplace_back(std::move(client), std::move(server));
      for (int from : {0, 1}) {
        carrying_.emplace_back([from_fd = ends[from], to_fd = ends[1 - from]] {
          std::vector<char> bytes(65536);
          ssize_t got = 0;
          while ((got = recv(from_fd, bytes.data(), bytes.size(), 0)) > 0) {
            for (ssize_t sent = 0; sent < got;) {
              const ssize_t some = ::send(to_fd, bytes.data() + sent,
                                          static_cast<std::size_t>(got - sent), MSG_NOSIGNAL);
              if (some <= 0) return;
              sent += some;
            }
          }
          shutdown(to_fd, SHUT_RDWR);
        });
      }
    }
  }

  using Pair = std::pair<platform::FileDescriptor, platform::FileDescriptor>;
  const std::string server_;
  platform::FileDescriptor listening_;
  std::string port_;
  std::thread accepting_;
  std::mutex mutex_;
  std::vector<Pair> pairs_;
  std::vector<std::thread> carrying_;
};

class Tls : public ::testing::Test {
 protected:
  Authority authority_;
  EnvironmentVariable trust_{"IW_CA", authority_.file("ca.pem")};
};

TEST_F(Tls, TwoProcessesShareASegment) {
  const Server server(authority_.serving());
  ASSERT_TRUE(server.good());
  Agent writer, reader;
  const std::string url = secure(server, "/shared");
  ASSERT_EQ(writer.tell("open " + url + " 10"), "ok");
  ASSERT_EQ(writer.tell("wl"), "ok");
  ASSERT_EQ(writer.tell("make n 10"), "ok");
  ASSERT_EQ(writer.tell("release"), "ok");
  ASSERT_EQ(reader.tell("open " + url + " 10"), "ok");
  for (int round = 1; round <= 100; ++round) {
    ASSERT_EQ(writer.tell("add n 3 1"), "ok");
    ASSERT_EQ(reader.tell("rl"), "ok");
    ASSERT_EQ(reader.tell("get n 3"), std::to_string(round));
    ASSERT_EQ(reader.tell("rl_release"), "ok");
  }
}

// More than all buffers on the way hold, there and back.
TEST_F(Tls, SixtyFourMebibytesPassWholeInBothDirections) {
  constexpr std::size_t count = std::size_t{16} << 20;
  const Server server(authority_.serving());
  ASSERT_TRUE(server.good());
  const std::string url = secure(server, "/large");
  const IW_handle_t segment = open(url);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  int* const numbers = static_cast<int*>(IW_malloc_array(segment, IW_int, count, "n"));
  ASSERT_NE(numbers, nullptr) << IW_strerror();
  std::iota(numbers, numbers + count, 1);
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  Agent reader;
  ASSERT_EQ(reader.tell("open " + url + " 10"), "ok");
  ASSERT_EQ(reader.tell("rl"), "ok");
  for (std::size_t i = 0; i < count; i += 999983) {
    EXPECT_EQ(reader.tell("get n " + std::to_string(i)), std::to_string(i + 1));
  }
  EXPECT_EQ(reader.tell("get n " + std::to_string(count - 1)), std::to_string(count));
  EXPECT_EQ(reader.tell("rl_release"), "ok");
  EXPECT_EQ(IW_close_segment(segment), 0);
}

TEST_F(Tls, ACertificateOfAnotherAuthorityIsDenied) {
  const Server server(authority_.serving());
  ASSERT_TRUE(server.good());
  const Authority other;
  const EnvironmentVariable trust("IW_CA", other.file("ca.pem"));
  expect_refused(secure(server, "/s"), IW_EDENIED, "IW_CA");
  expect_refused(secure(server, "/s"), IW_EDENIED, "certificate");
}

TEST_F(Tls, TheSystemsAuthoritiesAreTrustedByDefaultAndOursIsNotOne) {
  const Server server(authority_.serving());
  ASSERT_TRUE(server.good());
  const EnvironmentVariable trust("IW_CA", "");
  expect_refused(secure(server, "/s"), IW_EDENIED, "IW_CA");
}

// Written so long ago that it will not change unseen.
void write_of_old(const std::string& file, const std::string& text, int age_s) {
  std::ofstream(file, std::ios::trunc) << text;
  const auto now = std::filesystem::file_time_type::clock::now();
  std::filesystem::last_write_time(file, now - std::chrono::seconds(age_s));
}

std::string text_of(const std::string& file) {
  const std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void expect_taken(const std::string& url) {
  const IW_handle_t segment = open(url);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  EXPECT_EQ(IW_close_segment(segment), 0);
}

// Each server is connected to once, because connections are kept for a while.
TEST_F(Tls, AFileOfAuthoritiesIsReadAgainWhenItChanges) {
  const Server first(authority_.serving()), second(authority_.serving());
  const Server third(authority_.serving());
  ASSERT_TRUE(first.good() && second.good() && third.good());
  const Authority other;
  const std::string file = authority_.file("trusted.pem");
  const EnvironmentVariable trust("IW_CA", file);
  const std::string own = text_of(authority_.file("ca.pem"));
  write_of_old(file, own, 3600);
  expect_taken(secure(first, "/s"));
  write_of_old(file, text_of(other.file("ca.pem")), 1800);
  expect_refused(secure(second, "/s"), IW_EDENIED, "IW_CA");
  write_of_old(file, own, 900);
  expect_taken(secure(third, "/s"));
}

// Files of an archive, or of a picture of a system, may all have one time. Keys have one size.
TEST_F(Tls, AFileThatAnotherOfItsSizeAndTimeReplacesIsReadAgain) {
  const Server first(authority_.serving()), second(authority_.serving());
  ASSERT_TRUE(first.good() && second.good());
  const Authority other;
  const std::string file = authority_.file("trusted.pem");
  const EnvironmentVariable trust("IW_CA", file);
  std::string own = text_of(authority_.file("ca.pem"));
  std::string another = text_of(other.file("ca.pem"));
  // Text behind a certificate is a remark.
  own.resize(8192, '\n');
  another.resize(8192, '\n');
  write_of_old(file, own, 3600);
  expect_taken(secure(first, "/s"));
  const std::string beside = authority_.file("beside.pem");
  write_of_old(beside, another, 3600);
  std::filesystem::last_write_time(beside, std::filesystem::last_write_time(file));
  std::filesystem::rename(beside, file);
  expect_refused(secure(second, "/s"), IW_EDENIED, "IW_CA");
}

class TlsContexts : public Tls {
 protected:
  void SetUp() override {
    std::string why;
    library_ = platform::openssl::functions(why);
    ASSERT_NE(library_, nullptr) << why;
  }

  [[nodiscard]] std::shared_ptr<platform::openssl::Context> of(
      const platform::TlsFiles& files) const {
    std::shared_ptr<platform::openssl::Context> context;
    EXPECT_TRUE(bool(platform::context_for(*library_, files, context)));
    return context;
  }

  const platform::openssl::Functions* library_ = nullptr;
};

TEST_F(TlsContexts, FilesThatStayAsTheyAreAreReadOnce) {
  const std::string file = authority_.file("trusted.pem");
  write_of_old(file, text_of(authority_.file("ca.pem")), 3600);
  const auto context = of({file, "", ""});
  EXPECT_EQ(of({file, "", ""}), context);
  write_of_old(file, text_of(file), 1800);
  EXPECT_NE(of({file, "", ""}), context);
}

// Where the system has a file for each authority, the folder says that one has gone.
TEST_F(TlsContexts, AFolderOfAuthoritiesThatLosesOneIsReadAgain) {
  const std::string folder = authority_.file("trusted"), empty = authority_.file("empty");
  std::filesystem::create_directory(folder);
  std::filesystem::create_directory(empty);
  const std::string one = folder + "/1.0";
  write_of_old(one, text_of(authority_.file("ca.pem")), 3600);
  const auto age = [](const std::string& path, int age_s) {
    const auto now = std::filesystem::file_time_type::clock::now();
    std::filesystem::last_write_time(path, now - std::chrono::seconds(age_s));
  };
  age(folder, 3600);
  age(empty, 3600);
  const EnvironmentVariable no_file("SSL_CERT_FILE", authority_.file("nothing"));
  const EnvironmentVariable folders("SSL_CERT_DIR", empty + ":" + folder);
  const auto context = of({});
  EXPECT_EQ(of({}), context);
  std::filesystem::remove(one);
  age(folder, 1800);
  EXPECT_NE(of({}), context);
  const auto anew = of({});
  const EnvironmentVariable another("SSL_CERT_DIR", empty);
  EXPECT_NE(of({}), anew);
}

// The certificate names localhost and 127.0.0.1, which are not all names of this host.
TEST_F(Tls, ACertificateForAnotherAddressIsDenied) {
  const Server server(authority_.serving());
  ASSERT_TRUE(server.good());
  const Between between(server.address());
  expect_refused("iws://127.0.0.2:" + between.port() + "/s", IW_EDENIED, "IP address mismatch");
  for (const char* host : {"localhost", "127.0.0.1"}) {
    const IW_handle_t segment = open("iws://" + (host + (":" + between.port())) + "/s");
    ASSERT_NE(segment, nullptr) << IW_strerror();
    EXPECT_EQ(IW_close_segment(segment), 0);
  }
}

TEST_F(Tls, ACertificateForAnotherNameIsDenied) {
  const std::string name = platform::host_name();
  addrinfo* found = nullptr;
  if (name == "localhost" || getaddrinfo(name.c_str(), nullptr, nullptr, &found) != 0) {
    GTEST_SKIP() << "this host has no name of its own that it can look up";
  }
  freeaddrinfo(found);
  const Server server(authority_.serving());
  ASSERT_TRUE(server.good());
  const Between between(server.address());
  expect_refused("iws://" + name + ":" + between.port() + "/s", IW_EDENIED, "ostname mismatch");
}

TEST_F(Tls, AFileThatCannotBeUsedIsNamed) {
  const Server server(authority_.serving());
  ASSERT_TRUE(server.good());
  {
    const EnvironmentVariable trust("IW_CA", authority_.file("nothing.pem"));
    expect_refused(secure(server, "/s"), IW_EDENIED, "nothing.pem of IW_CA");
  }
  const EnvironmentVariable certificate("IW_CERT", authority_.file("alice.pem"));
  expect_refused(secure(server, "/s"), IW_EDENIED, "IW_KEY");
  const EnvironmentVariable key("IW_KEY", authority_.file("server.key"));
  expect_refused(secure(server, "/s"), IW_EDENIED, "server.key of IW_KEY");
}

// The socket takes the last descriptor, and IW_CA cannot be read.
TEST_F(Tls, AConnectionFailsForLackOfDescriptorsAndTheNextSucceeds) {
  const Server server(authority_.serving());
  ASSERT_TRUE(server.good());
  const IW_handle_t plain = open(server.url("/plain"));
  ASSERT_NE(plain, nullptr) << IW_strerror();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const platform::FileDescriptor next(dup(STDERR_FILENO));
  const rlimit tight{static_cast<rlim_t>(next.get()) + 2, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  expect_refused(secure(server, "/s"), IW_ENO_MEMORY, "descriptor");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  const IW_handle_t segment = open(secure(server, "/s"));
  ASSERT_NE(segment, nullptr) << IW_strerror();
  EXPECT_EQ(IW_close_segment(segment), 0);
  EXPECT_EQ(IW_close_segment(plain), 0);
}

TEST_F(Tls, AServerWithoutTlsIsUnreachableWithAHint) {
  const Server server;
  ASSERT_TRUE(server.good());
  expect_refused(secure(server, "/s"), IW_EUNREACHABLE, "--tls-cert");
}

// Through the server's Unix socket a client without a certificate would come in.
TEST_F(Tls, AServerTakesAClientByItsCertificateAndNotByItsUnixSocket) {
  const Server server(authority_.serving(
      "memory", {"--tls", "required", "--client-ca", authority_.file("ca.pem")}));
  ASSERT_TRUE(server.good());
  expect_refused(secure(server, "/s"), IW_EDENIED, "IW_CERT");
  const EnvironmentVariable certificate("IW_CERT", authority_.file("alice.pem"));
  const EnvironmentVariable key("IW_KEY", authority_.file("alice.key"));
  const IW_handle_t segment = open(secure(server, "/s"));
  ASSERT_NE(segment, nullptr) << IW_strerror();
  EXPECT_EQ(IW_close_segment(segment), 0);
}

// With all that a program does at its end. The leak check of the address sanitizer takes what the
// parent's threads have for leaks of the child.
[[noreturn]] void end_child(int status) {
#if defined(__SANITIZE_ADDRESS__)
  std::_Exit(status);
#else
  std::exit(status);
#endif
}

TEST_F(Tls, AForkedChildHasAConnectionOfItsOwnAndTheParentContinues) {
  const Server server(authority_.serving());
  ASSERT_TRUE(server.good());
  const std::string url = secure(server, "/forked");
  const IW_handle_t segment = open(url);
  ASSERT_NE(segment, nullptr) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(segment), 0);
  ASSERT_NE(IW_malloc_named(segment, IW_int, "n"), nullptr);
  ASSERT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  const pid_t child = fork();
  if (child == 0) {
    const IW_handle_t own = open(url);
    const bool is_good = own != nullptr && IW_wl_acquire(own) == 0 && IW_wl_release(own) == 0;
    end_child(is_good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(IW_wl_acquire(segment), 0) << IW_strerror();
  EXPECT_EQ(IW_wl_release(segment), 0) << IW_strerror();
  EXPECT_EQ(IW_close_segment(segment), 0);
}

// Threads that begin, shake hands and end, and hold OpenSSL's locks meanwhile.
TEST_F(Tls, Proc5AForkedChildShakesHandsWhateverItsParentsThreadsDid) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a child has the locks of the sanitizers' allocators as they were";
#endif
  constexpr int forks = 200;
  constexpr unsigned patience_s = 20;
  const Server server(authority_.serving());
  ASSERT_TRUE(server.good());
  const auto port = static_cast<std::uint16_t>(
      std::stoi(server.address().substr(server.address().rfind(':') + 1)));
  const platform::TlsFiles files{authority_.file("ca.pem"), "", ""};
  const auto shakes_hands = [&] {
    const std::int64_t deadline_ns = platform::now_ns() + patience_s * std::int64_t{1'000'000'000};
    platform::Socket socket;
    return platform::connect_tcp("127.0.0.1", port, deadline_ns, socket).ok() &&
           platform::begin_tls(socket, "127.0.0.1", files, deadline_ns);
  };
  std::atomic<bool> is_over{false};
  std::atomic<int> failures{0};
  std::array<std::thread, 3> threads;
  for (std::thread& each : threads) {
    each = std::thread([&] {
      while (!is_over) std::thread([&] { failures += shakes_hands() ? 0 : 1; }).join();
    });
  }
  int status = 0;
  for (int i = 0; i < forks && status == 0; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(patience_s);  // ends a child that hangs
      _exit(shakes_hands() ? 0 : 1);
    }
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "child " << i;
  }
  is_over = true;
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(failures, 0);
}

// Pushed to programs that ask for nothing, on the library's thread and in an event loop; also after
// the server has come back.
TEST_F(Tls, AProgramThatOnlyWaitsHearsOfVersions) {
  const TemporaryDirectory store;
  Server server(authority_.serving(store.path()));
  ASSERT_TRUE(server.good());
  const std::string url = secure(server, "/heard");
  Agent writer, on_thread, in_loop;
  ASSERT_EQ(writer.tell("open " + url + " 30"), "ok");
  ASSERT_EQ(writer.tell("wl"), "ok");
  ASSERT_EQ(writer.tell("make n 10"), "ok");
  ASSERT_EQ(writer.tell("release"), "ok");
  ASSERT_EQ(in_loop.tell("listen_in_loop"), "ok");
  for (Agent* listener : {&on_thread, &in_loop}) {
    ASSERT_EQ(listener->tell("open " + url + " 30"), "ok");
    ASSERT_EQ(listener->tell("rl"), "ok");
    ASSERT_EQ(listener->tell("rl_release"), "ok");
    ASSERT_EQ(listener->tell("listen_for change"), "ok");
  }
  for (int version = 2; version <= 5; ++version) {
    if (version == 5) {
      server.kill();
      server.start();
      ASSERT_TRUE(server.good());
    }
    ASSERT_EQ(writer.tell("add n 0 1"), "ok");
    for (Agent* listener : {&on_thread, &in_loop}) {
      EXPECT_EQ(listener->tell("hear"), "version " + std::to_string(version));
      ASSERT_EQ(listener->tell("rl"), "ok");
      ASSERT_EQ(listener->tell("rl_release"), "ok");
    }
  }
}

// Large diffs and small requests at the same time, on one connection.
TEST_F(Tls, ThreadsShareAConnection) {
  constexpr int rounds = 60;
  constexpr std::size_t count = 100'000;
  const Server server(authority_.serving());
  ASSERT_TRUE(server.good());
  std::vector<std::string> failures(4);
  std::vector<std::thread> threads;
  for (std::size_t one = 0; one < failures.size(); ++one) {
    threads.emplace_back([&, one] {
      const IW_handle_t segment = open(secure(server, "/" + std::to_string(one)));
      bool is_good = segment != nullptr && IW_wl_acquire(segment) == 0;
      auto* const numbers =
          is_good ? static_cast<int*>(IW_malloc_array(segment, IW_int, count, "n")) : nullptr;
      is_good = numbers != nullptr && IW_wl_release(segment) == 0;
      for (int round = 0; is_good && round < rounds; ++round) {
        is_good = IW_wl_acquire(segment) == 0;
        const std::size_t changed = one % 2 == 0 ? count : 1;
        for (std::size_t i = 0; is_good && i < changed; ++i) numbers[i] += 1;
        is_good = is_good && IW_wl_release(segment) == 0;
      }
      is_good = is_good && numbers[0] == rounds && IW_close_segment(segment) == 0;
      if (!is_good) failures[one] = IW_strerror();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
}

// The text arrives when the server has said this line, and maybe other things.
void expect_received(platform::Socket& socket, const std::string& text) {
  std::string all;
  while (all.find(text) == std::string::npos) {
    platform::Interest interest{socket.fd()};
    if (!socket.has_pending()) {
      ASSERT_TRUE(platform::wait_for({&interest, 1}, platform::now_ns() + 10'000'000'000).ok());
      ASSERT_TRUE(interest.readable) << all;
    }
    std::array<std::byte, 3> few;  // less than a record
    std::size_t got = 0;
    const platform::Status status = socket.receive({few, {}}, got);
    if (status.code == EAGAIN) continue;  // a record without text
    ASSERT_TRUE(status.ok()) << status.what;
    ASSERT_GT(got, 0U);
    all.append(reinterpret_cast<const char*>(few.data()), got);
  }
}

// The line of the child that has the text; "" if it does not come. Empty lines mean nothing here,
// but without an end of them the child is gone.
std::string line_with(Child& child, const std::string& text) {
  for (int lines = 0; lines < 200; ++lines) {
    std::string line = child.read_line();
    if (line.find(text) != std::string::npos) return line;
  }
  return "";
}

// OpenSSL's own server, because ours changes its keys only after very many bytes.
TEST_F(Tls, AServerMayChangeItsKeysAndAskForOurs) {
  Child server(
      {"/usr/bin/env", "stdbuf", "-oL", "openssl", "s_server", "-accept", "127.0.0.1:0", "-tls1_3",
       "-cert", authority_.file("server.pem"), "-key", authority_.file("server.key")},
      Child::Errors::with_output);
  const std::string line = line_with(server, "ACCEPT");
  ASSERT_FALSE(line.empty());
  const auto port = static_cast<std::uint16_t>(std::stoi(line.substr(line.rfind(':') + 1)));
  const std::int64_t deadline_ns = platform::now_ns() + 10'000'000'000;
  platform::Socket socket;
  ASSERT_TRUE(platform::connect_tcp("127.0.0.1", port, deadline_ns, socket).ok());
  const platform::TlsResult begun =
      platform::begin_tls(socket, "127.0.0.1", {authority_.file("ca.pem"), "", ""}, deadline_ns);
  ASSERT_TRUE(begun) << begun.text;
  for (int round = 0; round < 3; ++round) {
    const std::string text = "round " + std::to_string(round);
    server.write_line("K");
    ASSERT_FALSE(line_with(server, "SSL_do_handshake -> 1").empty());
    server.write_line(text);
    expect_received(socket, text);
    const std::string answer = "answer " + std::to_string(round);
    const std::string sent = answer + "\n";
    const platform::Slice slice{sent.data(), sent.size()};
    ASSERT_TRUE(socket.send({&slice, 1}, deadline_ns).ok());
    EXPECT_FALSE(line_with(server, answer).empty());
  }
}

class TlsBetween : public Tls, public ::testing::WithParamInterface<bool> {};

// The program is told that the connection is lost, and continues over a new one.
TEST_P(TlsBetween, ASpoiltOrTruncatedConnectionIsALostOne) {
  const Server server(authority_.serving());
  ASSERT_TRUE(server.good());
  Between between(server.address());
  Agent client;
  ASSERT_EQ(client.tell("open iws://127.0.0.1:" + between.port() + "/s 30"), "ok");
  ASSERT_EQ(client.tell("wl"), "ok");
  ASSERT_EQ(client.tell("make n 10"), "ok");
  ASSERT_EQ(client.tell("release"), "ok");
  ASSERT_EQ(client.tell("listen_for connection"), "ok");
  if (GetParam()) {
    between.spoil();
  } else {
    between.end();
  }
  EXPECT_EQ(client.tell("hear"), "disconnected");
  EXPECT_EQ(client.tell("hear"), "connected");
  EXPECT_EQ(client.tell("add n 0 3"), "ok");
  EXPECT_EQ(client.tell("rl"), "ok");
  EXPECT_EQ(client.tell("get n 0"), "3");
  EXPECT_EQ(client.tell("rl_release"), "ok");
}

INSTANTIATE_TEST_SUITE_P(Bytes, TlsBetween, ::testing::Bool(),
                         [](const auto& one) { return one.param ? "spoilt" : "truncated"; });

}  // namespace
}  // namespace iw::test
