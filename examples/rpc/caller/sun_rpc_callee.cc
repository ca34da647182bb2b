#include "caller/sun_rpc_callee.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "caller/stream_bytes.h"

namespace stock {
namespace {

[[noreturn]] void fail(const std::string& address, const std::string& what) {
  throw std::runtime_error("callee " + address + ": " + what);
}

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

int connected_socket(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) fail(address, "is not HOST:PORT or http://HOST:PORT");
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  const int why = ::getaddrinfo(address.substr(0, colon).c_str(), address.substr(colon + 1).c_str(),
                                &wanted, &first);
  if (why != 0) fail(address, ::gai_strerror(why));
  const std::unique_ptr<addrinfo, FreeAddresses> list(first);
  const int fd = ::socket(first->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || ::connect(fd, first->ai_addr, first->ai_addrlen) != 0) {
    const std::string text = std::strerror(errno);
    if (fd >= 0) ::close(fd);
    fail(address, text + "; is rpc-callee running there?");
  }
  const int on = 1;  // a call that is longer than a segment does not wait for its acknowledgement
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

char* text(const std::string& value) { return const_cast<char*>(value.c_str()); }

}  // namespace

SunRpcCallee::SunRpcCallee(const std::string& address)
    : address_(address), fd_(connected_socket(address)) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  ::getpeername(fd_, reinterpret_cast<sockaddr*>(&peer), &size);
  netbuf to{size, size, &peer};
  // The socket is connected, so nobody asks rpcbind for the port.
  client_ = clnt_vc_create(fd_, &to, STOCK_PROGRAM, STOCK_VERSION, 0, 0);
  if (client_ == nullptr) {
    ::close(fd_);
    fail(address_, clnt_spcreateerror("no Sun RPC"));
  }
}

SunRpcCallee::~SunRpcCallee() {
  CLNT_DESTROY(client_);
  ::close(fd_);
}

template <typename Argument>
receipt SunRpcCallee::call(clnt_stat (*function)(Argument*, answer*, CLIENT*), Argument argument) {
  answer got{};
  if (function(&argument, &got, client_) != RPC_SUCCESS) {
    fail(address_, clnt_sperror(client_, "the call failed"));
  }
  const receipt done = got.answer_u.done_receipt;
  const std::string why = got.done != FALSE ? "" : got.answer_u.why;
  xdr_free(reinterpret_cast<xdrproc_t>(xdr_answer), &got);
  if (!why.empty()) fail(address_, why);
  return done;
}

receipt SunRpcCallee::restock(const std::string& root_mip, const restock_order& order) {
  return call(restock_1, shared_stock{text(root_mip), order});
}

receipt SunRpcCallee::introduce(const std::string& root_mip, int number, double price,
                                const std::string& name) {
  return call(introduce_1, new_part{text(root_mip), number, price, text(name)});
}

receipt SunRpcCallee::restock_copy(PartCopy& parts, const restock_order& order) {
  copied_stock sent{parts.get(), order};
  copied_answer got{};
  if (restock_copy_1(&sent, &got, client_) != RPC_SUCCESS) {
    fail(address_, clnt_sperror(client_, "the call failed"));
  }
  parts.reset(got.root);
  return got.done_receipt;
}

std::uint64_t SunRpcCallee::bytes() const { return stream_bytes(fd_); }

}  // namespace stock
