// Segments over encrypted connections [NET-5] [MIP-2]: the real server, real certificates.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "abi/tests/server_process.h"
#include "interweave.h"

namespace iw::test {
namespace {

// A folder with an authority, a server's certificate, and alice's.
class Certificates {
 public:
  Certificates() {
    make("authority", "");
    make("server", "");
    make("client", "alice");
  }
  [[nodiscard]] std::string file(const std::string& name) const {
    return folder_.path() + "/" + name;
  }
  [[nodiscard]] std::vector<std::string> options(std::vector<std::string> more = {}) const {
    std::vector<std::string> all = {"--store",          "memory",    "--tls-cert",
                                    file("server.pem"), "--tls-key", file("server.key")};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

 private:
  void make(const std::string& kind, const std::string& name) {
    std::vector<std::string> command = {interweave_program(), "cert", kind, folder_.path()};
    if (!name.empty()) command.push_back(name);
    Child program(command);
    while (!program.read_line().empty()) {
    }
    EXPECT_EQ(program.wait(), 0);
  }

  TemporaryDirectory folder_;
};

std::string secure(const Server& server, const std::string& path) {
  return "iws://" + server.url(path);
}

class Secure : public ::testing::Test {
 protected:
  void trust(const Certificates& certificates) {
    authorities_.reset();
    authorities_ = std::make_unique<EnvironmentVariable>("IW_CA", certificates.file("ca.pem"));
  }
  void be(const Certificates& certificates, const std::string& name) {
    certificate_.reset();
    key_.reset();
    certificate_ =
        std::make_unique<EnvironmentVariable>("IW_CERT", certificates.file(name + ".pem"));
    key_ = std::make_unique<EnvironmentVariable>("IW_KEY", certificates.file(name + ".key"));
  }
  // Opening the URL fails so, and says that.
  static void is_refused(const std::string& url, int code, const std::string& words) {
    IW_open_options options{};
    options.size = sizeof options;
    options.flags = IW_CREATE;
    options.timeout = 5;
    EXPECT_EQ(IW_open_segment_with(url.c_str(), &options), nullptr);
    EXPECT_EQ(IW_errno(), code) << IW_strerror();
    EXPECT_NE(std::string(IW_strerror()).find(words), std::string::npos) << IW_strerror();
  }

  Certificates certificates_;

 private:
  std::unique_ptr<EnvironmentVariable> authorities_;
  std::unique_ptr<EnvironmentVariable> certificate_;
  std::unique_ptr<EnvironmentVariable> key_;
};

TEST_F(Secure, TwoProcessesShareASegment) {
  const Server server(certificates_.options());
  ASSERT_TRUE(server.good());
  trust(certificates_);
  Agent writer, reader;
  const std::string url = secure(server, "/shared");
  ASSERT_EQ(writer.tell("open " + url + " 5"), "ok");
  ASSERT_EQ(writer.tell("wl"), "ok");
  ASSERT_EQ(writer.tell("make n 10"), "ok");
  ASSERT_EQ(writer.tell("release"), "ok");
  ASSERT_EQ(reader.tell("open " + url + " 5"), "ok");
  for (int round = 1; round <= 50; ++round) {
    ASSERT_EQ(writer.tell("add n 3 1"), "ok");
    ASSERT_EQ(reader.tell("rl"), "ok");
    EXPECT_EQ(reader.tell("get n 3"), std::to_string(round));
    ASSERT_EQ(reader.tell("rl_release"), "ok");
  }
}

// More than all buffers on the way hold, and in both directions.
TEST_F(Secure, LargeReleasesAndCopiesPassWhole) {
  constexpr std::size_t count = std::size_t{6} << 20;
  const Server server(certificates_.options());
  ASSERT_TRUE(server.good());
  trust(certificates_);
  const std::string url = secure(server, "/large");
  const IW_handle_t handle = IW_open_segment(url.c_str());
  ASSERT_NE(handle, nullptr) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(handle), 0);
  int* const numbers = static_cast<int*>(IW_malloc_array(handle, IW_int, count, "n"));
  ASSERT_NE(numbers, nullptr);
  std::iota(numbers, numbers + count, 1);
  ASSERT_EQ(IW_wl_release(handle), 0) << IW_strerror();
  Agent reader;
  ASSERT_EQ(reader.tell("open " + url + " 5"), "ok");
  ASSERT_EQ(reader.tell("rl"), "ok");
  for (std::size_t i = 0; i < count; i += 99991) {
    ASSERT_EQ(reader.tell("get n " + std::to_string(i)), std::to_string(i + 1));
  }
  ASSERT_EQ(reader.tell("rl_release"), "ok");
  EXPECT_EQ(IW_close_segment(handle), 0);
}

TEST_F(Secure, AServerThatCannotBeTrustedIsLeft) {
  const Server server(certificates_.options());
  ASSERT_TRUE(server.good());
  is_refused(secure(server, "/s"), IW_EDENIED, "IW_CA");
  const Certificates others;
  trust(others);
  is_refused(secure(server, "/s"), IW_EDENIED, "not trusted");
}

TEST_F(Secure, AServerWithoutTlsIsNamed) {
  const Server server;
  ASSERT_TRUE(server.good());
  trust(certificates_);
  is_refused(secure(server, "/s"), IW_EUNREACHABLE, "--tls-cert");
}

// Also: the Unix socket of the server would take this client without a certificate.
TEST_F(Secure, AClientShowsItsCertificate) {
  const Server server(
      certificates_.options({"--tls", "required", "--client-ca", certificates_.file("ca.pem")}));
  ASSERT_TRUE(server.good());
  trust(certificates_);
  is_refused(secure(server, "/s"), IW_EDENIED, "IW_CERT");
  be(certificates_, "server");
  is_refused(secure(server, "/s"), IW_EDENIED, "IW_CERT");
  be(certificates_, "alice");
  const IW_handle_t handle = IW_open_segment(secure(server, "/s").c_str());
  ASSERT_NE(handle, nullptr) << IW_strerror();
  EXPECT_EQ(IW_close_segment(handle), 0);
}

// One server, but two for the client: it mixes no copies.
TEST_F(Secure, PlainAndEncryptedUrlsAreTwoSegments) {
  const Server server(certificates_.options());
  ASSERT_TRUE(server.good());
  trust(certificates_);
  const IW_handle_t encrypted = IW_open_segment(secure(server, "/s").c_str());
  const IW_handle_t plain = IW_open_segment(server.url("/s").c_str());
  ASSERT_TRUE(encrypted != nullptr && plain != nullptr) << IW_strerror();
  ASSERT_EQ(IW_wl_acquire(encrypted), 0);
  int* const made = static_cast<int*>(IW_malloc_named(encrypted, IW_int, "n"));
  ASSERT_NE(made, nullptr);
  *made = 7;
  const IW_mip_t mip = IW_ptr_to_mip(made);
  ASSERT_NE(mip, nullptr);
  EXPECT_EQ(std::string(mip).rfind("iws://", 0), 0U) << mip;
  IW_mip_free(mip);
  ASSERT_EQ(IW_wl_release(encrypted), 0);
  ASSERT_EQ(IW_rl_acquire(plain), 0);
  const int* const seen = static_cast<int*>(IW_mip_to_ptr(server.url("/s#n").c_str()));
  ASSERT_TRUE(seen != nullptr && seen != made);
  EXPECT_EQ(*seen, 7);
  EXPECT_EQ(IW_rl_release(plain), 0);
  EXPECT_EQ(IW_close_segment(plain), 0);
  EXPECT_EQ(IW_close_segment(encrypted), 0);
}

TEST_F(Secure, AClientComesBackToARestartedServer) {
  const TemporaryDirectory store;
  std::vector<std::string> options = certificates_.options();
  options[1] = store.path();
  Server server(options);
  ASSERT_TRUE(server.good());
  trust(certificates_);
  Agent client;
  ASSERT_EQ(client.tell("open " + secure(server, "/s") + " 20"), "ok");
  ASSERT_EQ(client.tell("wl"), "ok");
  ASSERT_EQ(client.tell("make n 2"), "ok");
  ASSERT_EQ(client.tell("release"), "ok");
  server.kill();
  server.start();
  ASSERT_TRUE(server.good());
  EXPECT_EQ(client.tell("add n 0 3"), "ok");
  ASSERT_EQ(client.tell("rl"), "ok");
  EXPECT_EQ(client.tell("get n 0"), "3");
}

TEST_F(Secure, AChildOfAForkHasConnectionsOfItsOwn) {
  const Server server(certificates_.options());
  ASSERT_TRUE(server.good());
  trust(certificates_);
  const std::string url = secure(server, "/s");
  const IW_handle_t handle = IW_open_segment(url.c_str());
  ASSERT_NE(handle, nullptr) << IW_strerror();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const IW_handle_t own = IW_open_segment(url.c_str());
    const bool is_well = own != nullptr && IW_wl_acquire(own) == 0 &&
                         IW_malloc_named(own, IW_int, "n") != nullptr && IW_wl_release(own) == 0;
    _exit(is_well ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(IW_rl_acquire(handle), 0) << IW_strerror();
  EXPECT_NE(IW_mip_to_ptr((url + "#n").c_str()), nullptr);
  EXPECT_EQ(IW_rl_release(handle), 0);
  EXPECT_EQ(IW_close_segment(handle), 0);
}

}  // namespace
}  // namespace iw::test
