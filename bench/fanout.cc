// One writer and 1,000 readers that are pushed every version: the time from the writer's release
// until the last reader's bytes have been read from its socket. The rival is a bare writev of as
// many bytes to 1,000 sockets. The readers are connections of one process, which sends the messages
// of a client and then counts bytes. Writes fanout.csv: readers,changed,system,us,bytes.
#include <interweave.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "harness/child_server.h"
#include "harness/many_sockets.h"
#include "harness/results.h"
#include "harness/segment.h"
#include "harness/two_processes.h"
#include "platform/clock.h"
#include "platform/socket.h"
#include "protocol/lock.gen.h"
#include "protocol/notify.gen.h"
#include "protocol/segment.gen.h"
#include "session/connection.h"

namespace {

using bench::fail;
using bench::ManySockets;
using bench::TwoProcesses;
using iw::platform::now_ns;
using iw::protocol::message_type;
using iw::session::Incoming;

constexpr int kReaders = 1000;
constexpr std::size_t kDoubles = 131072;  // 1 MiB
constexpr int kRounds = 60;
constexpr int kWarmUp = 10;
constexpr std::int64_t kPatience_ns = 10'000'000'000;
constexpr std::size_t kHeadBytes = 96;

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "bench: %s\n", what.c_str());
  std::exit(1);
}

// One reader: what a client says until it is pushed versions, and no copy.
class RawReader {
 public:
  explicit RawReader(const std::string& socket_name) : connection_(now_ns()) {
    if (!iw::platform::connect_unix(socket_name, now_ns() + kPatience_ns, socket_)) {
      give_up("a reader cannot connect");
    }
  }

  void subscribe(const std::string& path) {
    iw::session::SessionIdentity identity;
    identity.client = "bench";
    const Incoming welcome = ask(message_type::HELLO, connection_.hello(identity));
    if (!connection_.welcomed(welcome, identity)) give_up("a reader is not welcome");
    iw::protocol::open_segment open;
    open.path = path;
    open.read_only = true;
    iw::protocol::segment_opened opened;
    const Incoming answer = ask(message_type::OPEN_SEGMENT, open);
    const auto read = decode_answer(answer, message_type::SEGMENT_OPENED, opened);
    if (!read) give_up("no segment for a reader: " + read.text);
    iw::protocol::subscribe wish;
    wish.segment = opened.segment;
    wish.have = opened.newest;
    wish.push = true;
    wish.push_bytes = std::uint64_t{1} << 40;
    if (ask(message_type::SUBSCRIBE, wish).type() != message_type::SUBSCRIBED) {
      give_up("a reader cannot subscribe");
    }
  }

  // The bytes of the next version's message.
  std::size_t next_version() {
    const Incoming pushed = next();
    if (pushed.type() != message_type::PUSH) give_up("something else than a version came");
    return pushed.message.frame_bytes;
  }

  [[nodiscard]] int fd() const { return socket_.fd(); }

 private:
  template <typename Body>
  Incoming ask(message_type type, const Body& body) {
    const std::vector<std::uint8_t> bytes = iw::session::encoded(body);
    const std::uint32_t stream = connection_.begin_request(1, type, now_ns());
    iw::session::FrameWriter frames(type, stream, bytes, {});
    if (!socket_.send(frames.next(1 << 20), now_ns() + kPatience_ns)) give_up("a reader's send");
    return next();
  }

  Incoming next() {
    std::vector<Incoming> incoming;
    while (incoming.empty()) {
      iw::platform::Interest interest{socket_.fd()};
      if (!iw::platform::wait_for({&interest, 1}, now_ns() + kPatience_ns)) give_up("poll");
      std::size_t got = 0;
      if (!socket_.receive(connection_.space(), got) || got == 0) give_up("a reader is lost");
      if (!connection_.received(got, now_ns(), incoming)) give_up("a reader cannot understand");
    }
    if (incoming.size() > 1) give_up("a reader was told two things at once");
    return std::move(incoming.front());
  }

  iw::session::Connection connection_;
  iw::platform::Socket socket_;
};

void receive_versions(TwoProcesses& pair, const std::string& address) {
  const std::string port = address.substr(address.rfind(':') + 1);
  std::vector<RawReader> readers;
  std::vector<int> fds;
  for (int i = 0; i < kReaders; ++i) {
    readers.emplace_back("@interweave-" + port).subscribe("/fanout");
    fds.push_back(readers.back().fd());
  }
  ManySockets sockets(fds);
  pair.ready();
  std::size_t bytes = 0;
  for (RawReader& reader : readers) bytes = reader.next_version();
  pair.had_it();
  for (int round = 1; round < pair.rounds(); ++round) {
    sockets.receive_each(bytes);
    pair.had_it();
  }
  pair.report_bytes(bytes);
}

struct Figure {
  double us = 0;
  std::uint64_t bytes = 0;
};

Figure interweave_fanout(std::size_t changed) {
  const bench::ChildServer server = bench::ChildServer::interweave();
  Figure figure;
  TwoProcesses writer(1, [&](TwoProcesses& report) {
    TwoProcesses pair(kRounds, [&](TwoProcesses& inner) {
      inner.wait_go();
      receive_versions(inner, server.address());
    });
    const IW_handle_t segment = bench::open_segment(server.address() + "/fanout");
    if (IW_wl_acquire(segment) != 0) fail("writer lock");
    auto* const array =
        static_cast<double*>(IW_malloc_array(segment, IW_double, kDoubles, "array"));
    if (array == nullptr) fail("malloc");
    if (IW_wl_release(segment) != 0) fail("release");
    pair.go();
    pair.wait_ready();
    std::vector<double> samples;
    for (int round = 0; round < kRounds; ++round) {
      if (IW_wl_acquire(segment) != 0) fail("writer lock");
      for (std::size_t i = 0; i < changed; ++i) array[i] = round + 1 + static_cast<double>(i);
      const std::int64_t begin = bench::now_ns();
      if (IW_wl_release(segment) != 0) fail("release");
      const std::int64_t end = pair.wait_had_it();
      if (round >= kWarmUp) samples.push_back(static_cast<double>(end - begin) / 1e3);
    }
    report.report_bytes(pair.reader_bytes());
    report.report_us(bench::median(samples));
  });
  figure.bytes = writer.reader_bytes();
  figure.us = writer.reader_us();
  return figure;
}

// A bare writev of a head and of the bytes that all share, to as many sockets.
double writev_fanout(std::size_t bytes) {
  std::vector<int> senders;
  std::vector<int> receivers;
  for (int i = 0; i < kReaders; ++i) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) give_up("no socket pairs");
    senders.push_back(ends[0]);
    receivers.push_back(ends[1]);
  }
  std::vector<double> samples;
  {
    TwoProcesses pair(kRounds, [&](TwoProcesses& inner) {
      ManySockets sockets(receivers);
      inner.ready();
      for (int round = 0; round < inner.rounds(); ++round) {
        sockets.receive_each(bytes);
        inner.had_it();
      }
    });
    pair.wait_ready();
    std::vector<char> head(kHeadBytes);
    std::vector<char> rest(bytes - kHeadBytes);
    for (int round = 0; round < kRounds; ++round) {
      const std::int64_t begin = bench::now_ns();
      for (const int fd : senders) {
        const iovec parts[] = {{head.data(), head.size()}, {rest.data(), rest.size()}};
        if (writev(fd, parts, 2) != static_cast<ssize_t>(bytes)) give_up("a short write");
      }
      const std::int64_t end = pair.wait_had_it();
      if (round >= kWarmUp) samples.push_back(static_cast<double>(end - begin) / 1e3);
    }
  }
  for (const int fd : senders) close(fd);
  for (const int fd : receivers) close(fd);
  return bench::median(samples);
}

}  // namespace

int main() {
  bench::allow_descriptors(8 * kReaders);
  bench::Csv csv("fanout.csv", "readers,changed,system,us,bytes");
  std::printf("%d readers, a release until the last one has it; medians of %d\n", kReaders,
              kRounds - kWarmUp);
  std::printf("%10s %12s %14s %14s\n", "doubles", "bytes each", "release us", "writev us");
  for (const std::size_t changed : {std::size_t{1}, kDoubles / 100}) {
    const Figure ours = interweave_fanout(changed);
    const double bare_us = writev_fanout(ours.bytes);
    std::printf("%10zu %12zu %14.1f %14.1f   %.2fx\n", changed,
                static_cast<std::size_t>(ours.bytes), ours.us, bare_us, ours.us / bare_us);
    csv.row(bench::format("%d,%zu,interweave,%.1f,%zu", kReaders, changed, ours.us,
                          static_cast<std::size_t>(ours.bytes)));
    csv.row(bench::format("%d,%zu,writev,%.1f,%zu", kReaders, changed, bare_us,
                          static_cast<std::size_t>(ours.bytes)));
  }
  csv.finish();
  return 0;
}
