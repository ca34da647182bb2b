// Unix sockets: only on POSIX systems.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>

#include "platform/process.h"
#include "platform/socket_fixture.h"

namespace iw::platform {
namespace {

struct Listener {
  FileDescriptor fd{socket(AF_UNIX, SOCK_STREAM, 0)};
  std::string path = "/tmp/interweave-socket-test-";
  bool is_bound = false;

  Listener() {
    path += std::to_string(process_id());
    unlink(path.c_str());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, path.size());
    is_bound = bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
               listen(fd.get(), 5) == 0;
  }
  ~Listener() { unlink(path.c_str()); }
  Socket accepted() { return Socket(FileDescriptor(accept(fd.get(), nullptr, nullptr))); }
};

TEST(UnixSocket, ConnectsByItsPath) {
  Listener listener;
  ASSERT_TRUE(listener.is_bound);
  Socket client;
  ASSERT_TRUE(connect_unix(listener.path, now_ns() + 10 * second_ns, client).ok());
  Socket server = listener.accepted();
  expect_exchange(client, server);
}

TEST(UnixSocket, FailuresSayWhy) {
  Socket client;
  EXPECT_EQ(connect_unix("/nonexistent/socket", now_ns() + second_ns, client).code, ENOENT);
  EXPECT_EQ(connect_unix(std::string(500, 'x'), now_ns() + second_ns, client).code, ENAMETOOLONG);
  EXPECT_FALSE(client);
}

}  // namespace
}  // namespace iw::platform
