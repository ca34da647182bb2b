// System calls with memory of a heap whose pages are closed, or are closed meanwhile.
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "dsm/memory/heap_fixture.h"

namespace iw::dsm {
namespace {

class InterposeTest : public HeapTest {
 protected:
  void SetUp() override {
    HeapTest::SetUp();
    if (IsSkipped()) return;
    opener_ = std::make_unique<Opener>(*heap_);
    heap_->end_replay(false);
    file_ = memfd_create("test", MFD_CLOEXEC);
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, datagrams_), 0);
    ASSERT_EQ(pipe(pipe_), 0);
  }
  void TearDown() override {
    for (const int each : {file_, datagrams_[0], datagrams_[1], pipe_[0], pipe_[1]}) {
      if (each >= 0) close(each);
    }
  }

  // Memory that begins and ends within pages: `at` is the number of its first page.
  char* memory(PageNumber at) const {
    return reinterpret_cast<char*>(heap_->begin() + at * page_bytes()) + page_bytes() / 2;
  }
  std::size_t size() const { return 2 * page_bytes(); }
  std::string text() const {
    std::string text(size(), 'x');
    for (std::size_t i = 0; i < text.size(); i++) text[i] = static_cast<char>('a' + i % 23);
    return text;
  }
  void store(PageNumber at) const { std::memcpy(memory(at), text().data(), size()); }
  bool has_text(PageNumber at) const { return std::memcmp(memory(at), text().data(), size()) == 0; }
  void close_pages() {
    const platform::MutexLock lock(opener_->mutex);
    opener_->allow(0, 100, Access::none);
  }
  ssize_t signed_size() const { return static_cast<ssize_t>(size()); }

  std::unique_ptr<Opener> opener_;
  int file_ = -1;
  int datagrams_[2] = {-1, -1};
  int pipe_[2] = {-1, -1};
};

TEST_P(InterposeTest, KernelItselfFailsAtClosedPages) {
  store(0);
  close_pages();
  errno = 0;
  EXPECT_EQ(syscall(SYS_write, file_, memory(0), size()), -1);
  EXPECT_EQ(errno, EFAULT);
}

TEST_P(InterposeTest, FilesAreWrittenAndReadInOnePiece) {
  store(0);
  close_pages();
  EXPECT_EQ(write(file_, memory(0), size()), signed_size());
  EXPECT_EQ(pwrite(file_, memory(0), size(), 100), signed_size());
  EXPECT_EQ(pwrite64(file_, memory(0), size(), 0), signed_size());
  EXPECT_EQ(lseek(file_, 0, SEEK_SET), 0);
  EXPECT_EQ(read(file_, memory(10), size()), signed_size());
  EXPECT_EQ(pread(file_, memory(20), size(), 0), signed_size());
  EXPECT_EQ(pread64(file_, memory(30), size(), 0), signed_size());
  EXPECT_TRUE(has_text(10) && has_text(20) && has_text(30));
  // At the end of the file.
  EXPECT_EQ(pread(file_, memory(40), size(), 100), signed_size());
  EXPECT_EQ(pread(file_, memory(40), size(), 200), signed_size() - 100);
  EXPECT_EQ(pread(file_, memory(40), size(), 1 << 20), 0);
}

TEST_P(InterposeTest, PagesAreOpenedForWhatTheKernelDoesWithThem) {
  ASSERT_EQ(ftruncate(file_, signed_size()), 0);
  EXPECT_EQ(pread(file_, memory(1), size(), 0), signed_size());
  EXPECT_EQ(opener_->faults(),
            (Faults{{1, Access::write}, {2, Access::write}, {3, Access::write}}));
  EXPECT_EQ(pwrite(file_, memory(11), size(), 0), signed_size());
  EXPECT_EQ(opener_->faults(),
            (Faults{{11, Access::read}, {12, Access::read}, {13, Access::read}}));
}

TEST_P(InterposeTest, ListsOfPartsLieInTheHeap) {
  store(0);
  auto* const parts = reinterpret_cast<iovec*>(memory(50));
  parts[0] = {memory(0), 100};
  parts[1] = {memory(0) + 100, size() - 100};
  close_pages();
  EXPECT_EQ(writev(file_, parts, 2), signed_size());
  EXPECT_EQ(lseek(file_, 0, SEEK_SET), 0);
  parts[0].iov_base = memory(10);
  parts[1].iov_base = memory(10) + 100;
  close_pages();
  EXPECT_EQ(readv(file_, parts, 2), signed_size());
  EXPECT_TRUE(has_text(10));
  volatile int too_few = -1;
  EXPECT_EQ(readv(file_, parts, too_few), -1);
  EXPECT_EQ(errno, EINVAL);
}

// The kernel drops a datagram that it cannot store.
TEST_P(InterposeTest, DatagramsAreNotLost) {
  store(0);
  close_pages();
  const std::size_t bytes = std::min(size(), std::size_t{65536});
  const auto count = static_cast<ssize_t>(bytes);
  EXPECT_EQ(send(datagrams_[0], memory(0), bytes, 0), count);
  EXPECT_EQ(recv(datagrams_[1], memory(10), bytes, 0), count);
  EXPECT_EQ(std::memcmp(memory(10), text().data(), bytes), 0);
  close_pages();
  EXPECT_EQ(sendto(datagrams_[0], memory(0), bytes, 0, nullptr, 0), count);
  EXPECT_EQ(recvfrom(datagrams_[1], memory(20), bytes, 0, nullptr, nullptr), count);
  EXPECT_EQ(std::memcmp(memory(20), text().data(), bytes), 0);
  auto* const message = new (memory(50)) msghdr{};
  auto* const part = new (memory(52)) iovec{memory(0), bytes};
  message->msg_iov = part;
  message->msg_iovlen = 1;
  close_pages();
  EXPECT_EQ(sendmsg(datagrams_[0], message, 0), count);
  part->iov_base = memory(30);
  close_pages();
  EXPECT_EQ(recvmsg(datagrams_[1], message, 0), count);
  EXPECT_EQ(std::memcmp(memory(30), text().data(), bytes), 0);
}

TEST_P(InterposeTest, AddressesOfSocketsLieInTheHeap) {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  auto* const address = new (memory(60)) sockaddr_in{};
  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const general = reinterpret_cast<sockaddr*>(address);
  sockaddr_in own{};
  std::memcpy(&own, address, sizeof own);
  ASSERT_EQ(bind(socket, reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
  socklen_t length = sizeof own;
  ASSERT_EQ(getsockname(socket, reinterpret_cast<sockaddr*>(&own), &length), 0);
  address->sin_port = own.sin_port;
  store(0);
  close_pages();
  EXPECT_EQ(sendto(socket, memory(0), 1000, 0, general, sizeof own), 1000);
  address->sin_port = 0;
  auto* const size_of_address = new (memory(70)) socklen_t{sizeof own};
  close_pages();
  EXPECT_EQ(recvfrom(socket, memory(10), 1000, 0, general, size_of_address), 1000);
  EXPECT_EQ(address->sin_port, own.sin_port);
  close(socket);
}

TEST_P(InterposeTest, StdioTransfersWholeItems) {
  FILE* const stream = fdopen(dup(file_), "w+");
  ASSERT_NE(stream, nullptr);
  store(0);
  close_pages();
  EXPECT_EQ(fwrite(memory(0), 16, size() / 16, stream), size() / 16);
  rewind(stream);
  EXPECT_EQ(fread(memory(10), 1, 10, stream), 10u);
  EXPECT_EQ(fread(memory(10) + 10, 1, size(), stream), size() - 10);
  EXPECT_TRUE(feof(stream) != 0 && ferror(stream) == 0);
  EXPECT_TRUE(has_text(10));
  rewind(stream);
  close_pages();
  EXPECT_EQ(fread(memory(20), size(), 1, stream), 1u);
  EXPECT_EQ(fread(memory(20), size(), 0, stream), 0u);
  EXPECT_TRUE(has_text(20));
  fclose(stream);
}

// Another program's library calls the C library: its calls arrive here, too.
TEST_P(InterposeTest, SharedLibrariesTransferToo) {
  std::ofstream out("/proc/self/fd/" + std::to_string(file_));
  store(0);
  close_pages();
  out.write(memory(0), signed_size()).flush();
  EXPECT_TRUE(out.good());
  std::ifstream in("/proc/self/fd/" + std::to_string(file_));
  in.read(memory(10), signed_size());
  EXPECT_TRUE(in.good());
  EXPECT_TRUE(has_text(10));
}

TEST_P(InterposeTest, ErrorsOfTheSystemArePassedOn) {
  EXPECT_EQ(read(-1, memory(0), size()), -1);
  EXPECT_EQ(errno, EBADF);
  EXPECT_EQ(read(pipe_[0], memory(0), 0), 0);
  // The heap's last page, and behind it nothing.
  char* const end = reinterpret_cast<char*>(heap_->begin() + heap_->bytes());
  ASSERT_EQ(ftruncate(file_, 4096), 0);
  EXPECT_EQ(pread(file_, end - 10, 100, 0), 10) << "as much as there is memory for";
  EXPECT_EQ(send(datagrams_[0], end - 10, 100, 0), -1);
  EXPECT_EQ(errno, EFAULT);
}

// Another thread ends intervals, so that pages are closed during the calls.
TEST_P(InterposeTest, PagesMayBeClosedMeanwhile) {
  std::atomic<bool> is_over{false};
  std::thread closing([&] {
    while (!is_over) close_pages();
  });
  for (int round = 0; round < 100; round++) {
    store(0);
    ASSERT_EQ(pwrite(file_, memory(0), size(), 0), signed_size());
    ASSERT_EQ(pread(file_, memory(10), size(), 0), signed_size());
    ASSERT_TRUE(has_text(10));
    std::memset(memory(10), 0, size());
    FILE* const stream = fdopen(dup(file_), "r");
    rewind(stream);
    ASSERT_EQ(fread(memory(10), size(), 1, stream), 1u);
    ASSERT_TRUE(has_text(10));
    fclose(stream);
    std::memset(memory(10), 0, size());
  }
  is_over = true;
  closing.join();
}

INSTANTIATE_TEST_SUITE_P(All, InterposeTest, all_ways_and_sizes(), name_of);

}  // namespace
}  // namespace iw::dsm
