// rpc-callee: a Sun RPC server on a port of loopback. No rpcbind: callers are told the port.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <rpc/rpc.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "command_line/arguments.h"
#include "command_line/stop_signal.h"
#include "service.h"

extern "C" void stock_program_1(svc_req*, SVCXPRT*);  // rpcgen's dispatcher

namespace {

constexpr char kProgram[] = "rpc-callee";
constexpr uint16_t kDefaultPort = 7790;
constexpr char kHelp[] =
    "Usage: rpc-callee [--port N]\n"
    "Orders parts that are short, for rpc-caller: a Sun RPC server on 127.0.0.1:7790.\n"
    "By reference it is given a MIP, opens that segment and changes the caller's parts in place.\n"
    "By copy it is given the parts, and sends them back.\n"
    "\n"
    "  --port N   another port; 0: any, printed as `listening 127.0.0.1:PORT`\n"
    "\n"
    "Examples:\n"
    "  rpc-callee                                   one terminal; Ctrl-C ends it\n"
    "  rpc-caller plant 1000                        another\n"
    "  rpc-caller restock 5 20\n";

int fail(const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", kProgram, what.c_str());
  return 1;
}

// A listening socket on loopback; the port it has got goes to `port`. -1 and errno if not.
int listen_on(uint16_t& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(fd, any, size) != 0 || ::listen(fd, SOMAXCONN) != 0 ||
      ::getsockname(fd, any, &size) != 0) {
    return -1;
  }
  port = ntohs(address.sin_port);
  return fd;
}

// svc_run, which also ends.
void serve(const command_line::StopSignal& stop) {
  while (!stop.requested()) {
    std::vector<pollfd> waited(svc_pollfd, svc_pollfd + svc_max_pollfd);
    waited.push_back({stop.fd(), POLLIN, 0});
    const int ready = ::poll(waited.data(), waited.size(), -1);
    if (ready > 0 && !stop.requested()) svc_getreq_poll(waited.data(), ready);
  }
}

}  // namespace

int main(int argc, char** argv) {
  uint16_t port = kDefaultPort;
  if (argc == 2 && std::strcmp(argv[1], "--help") == 0) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  if (argc == 3 && std::strcmp(argv[1], "--port") == 0) {
    const auto number = command_line::whole_number(argv[2]);
    if (!number || *number > UINT16_MAX) {
      return command_line::refuse_argument(kProgram, "port", argv[2], "a number from 0 to 65535");
    }
    port = static_cast<uint16_t>(*number);
  } else if (argc != 1) {
    std::fprintf(stderr, "%s: '%s' is not an option; try --help\n", kProgram, argv[1]);
    return 2;
  }
  const command_line::StopSignal stop;
  std::signal(SIGPIPE, SIG_IGN);  // callers that leave before they have their answer
  const int fd = listen_on(port);
  if (fd < 0) {
    return fail("port " + std::to_string(port) + ": " + std::strerror(errno) +
                "; choose another one with --port");
  }
  SVCXPRT* const transport = svc_vc_create(fd, 0, 0);
  // Without a netconfig: rpcbind, which many machines do not run, hears nothing of it.
  if (transport == nullptr ||
      !svc_reg(transport, STOCK_PROGRAM, STOCK_VERSION, stock_program_1, nullptr)) {
    return fail("libtirpc does not take the socket");
  }
  std::printf("listening 127.0.0.1:%u\n", port);
  std::fflush(stdout);
  serve(stop);
  svc_destroy(transport);
  return 0;
}
