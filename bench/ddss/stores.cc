// Redis and memcached on Unix sockets, asked one thing at a time.
#include <hiredis/hiredis.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "ddss/measures.h"

namespace bench {
namespace {

// Every call waits for an answer over a socket, whatever the segment's place.
const Case over_socket{"shm", true};
constexpr std::size_t store_sizes[] = {1, 8, 64, 1024, 65536};

int connect_to(const std::string& path) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  path.copy(to.sun_path, sizeof to.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) fail("connect to " + path);
  return fd;
}

class Memcached {
 public:
  explicit Memcached(const std::string& path) : fd_(connect_to(path)) {}
  ~Memcached() { close(fd_); }
  void put(const std::vector<char>& value) {
    request_ = format("set key 0 0 %zu\r\n", value.size());
    request_.append(value.data(), value.size());
    request_ += "\r\n";
    if (ask("\r\n") != "STORED\r\n") fail("memcached did not store");
  }
  std::size_t get() {
    request_ = "get key\r\n";
    const std::string& answer = ask("\r\nEND\r\n");
    const std::size_t header = answer.find("\r\n") + 2;
    return answer.size() - header - std::strlen("\r\nEND\r\n");
  }

 private:
  const std::string& ask(const std::string& end) {
    if (write(fd_, request_.data(), request_.size()) < 0) fail("memcached");
    answer_.clear();
    do {
      char buffer[65536];
      const ssize_t count = read(fd_, buffer, sizeof buffer);
      if (count <= 0) fail("memcached");
      answer_.append(buffer, static_cast<std::size_t>(count));
    } while (!answer_.ends_with(end));
    return answer_;
  }
  int fd_;
  std::string request_, answer_;
};

void check_free(void* reply) {
  if (reply == nullptr || static_cast<redisReply*>(reply)->type == REDIS_REPLY_ERROR) {
    fail("redis");
  }
  freeReplyObject(reply);
}

}  // namespace

void measure_redis(Table* table) {
  const ChildServer server = ChildServer::redis();
  redisContext* redis = redisConnectUnix(server.address().c_str());
  if (redis == nullptr || redis->err != 0) fail("redis");
  for (const std::size_t bytes : store_sizes) {
    const std::vector<char> value(bytes, 'x');
    const double put_us =
        measure([&] { check_free(redisCommand(redis, "SET key %b", value.data(), value.size())); });
    const double get_us = measure([&] { check_free(redisCommand(redis, "GET key")); });
    table->row("put", "null", bytes, over_socket, "redis", put_us);
    table->row("get", "null", bytes, over_socket, "redis", get_us);
  }
  redisFree(redis);
}

void measure_memcached(Table* table) {
  const ChildServer server = ChildServer::memcached();
  Memcached memcached(server.address());
  for (const std::size_t bytes : store_sizes) {
    const std::vector<char> value(bytes, 'x');
    const double put_us = measure([&] { memcached.put(value); });
    const double get_us = measure([&] {
      if (memcached.get() != bytes) fail("memcached gave something else");
    });
    table->row("put", "null", bytes, over_socket, "memcached", put_us);
    table->row("get", "null", bytes, over_socket, "memcached", get_us);
  }
}

}  // namespace bench
