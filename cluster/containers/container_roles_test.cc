// The processes of the containers' tests.
#include <dirent.h>
#include <linux/filter.h>
#include <sys/socket.h>

#include "am/name_server.h"
#include "containers/container_processes.h"
#include "containers/endpoint.h"
#include "interweave/am.h"

using namespace iw::containers_test;

namespace {

std::string word_after(const std::string& command, const std::string& name) {
  return command.starts_with(name + " ") ? command.substr(name.size() + 1) : "";
}

std::string statistics_of(const ReaderContainer<Numbers>& reader) {
  const auto is = reader.statistics();
  std::ostringstream text;
  text << is.updates_evaluated << " " << is.objects_evaluated << " " << is.recoveries << " "
       << is.queued;
  return text.str();
}

std::unique_ptr<WriterContainer<Numbers>> writer;
std::unique_ptr<ReaderContainer<Numbers>> reader;

std::string wait_for_tie(Tie tie) {
  return eventually([&] { return reader->tie() == tie; }) ? "so" : "not so";
}

std::vector<int> tcp_sockets() {
  std::vector<int> sockets;
  DIR* const files = opendir("/proc/self/fd");
  while (const dirent* file = readdir(files)) {
    int domain = 0;
    socklen_t size = sizeof domain;
    const int fd = std::atoi(file->d_name);
    const bool is_socket = getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0;
    if (is_socket && domain == AF_INET) sockets.push_back(fd);
  }
  closedir(files);
  return sockets;
}

// The parent's sockets. The transport library leaves them open in processes that are started.
const std::vector<int> inherited = tcp_sockets();

// From now on this process receives nothing over TCP, because a filter drops all packets with
// content, also when they are sent again. It can still send. Returns the number of connections.
int deafen() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 12),  // the TCP header's length, in the upper half
      BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 4),
      BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 2),
      BPF_STMT(BPF_MISC | BPF_TAX, 0),
      BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0xffffffff),  // a packet without content passes
      BPF_STMT(BPF_RET | BPF_K, 0),
  };
  const sock_fprog filter{std::size(program), program};
  int count = 0;
  for (const int fd : tcp_sockets()) {
    if (std::ranges::find(inherited, fd) != inherited.end()) continue;
    count += setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) == 0;
  }
  return count;
}

// Its function has no number yet.
struct Late : ValueContainer<std::int64_t> {
  void add(std::int64_t amount) { value_ += amount; }
};

std::string obey(Factory& factory, const std::string& command) {
  if (const auto count = word_after(command, "push"); !count.empty()) {
    for (int i = std::stoi(count); i > 0; i--) writer->call<&Numbers::push_back>(i);
    return summary(*writer);
  }
  if (const auto size = word_after(command, "until"); !size.empty()) {
    const bool is_so = eventually([&] {
      return reader->read()->value().size() >= static_cast<std::size_t>(std::stoul(size));
    });
    return is_so ? summary(*reader->read()) : "never";
  }
  if (command == "readers") return std::to_string(writer->statistics().readers);
  if (command == "pings") return std::to_string(reader->statistics().pings);
  if (command == "queued") return std::to_string(reader->statistics().queued);
  if (command == "read") return summary(*reader->read());
  if (command == "values") return values(*reader->read());
  if (command == "statistics") return statistics_of(*reader);
  if (command == "deafen") return std::to_string(deafen());
  if (command == "ended") return wait_for_tie(Tie::ended);
  if (command == "broken") return wait_for_tie(Tie::broken);
  if (command == "joined") return wait_for_tie(Tie::joined);
  if (command == "take") {
    writer = factory.take_role(reader, quick());
    return writer != nullptr ? "taken" : "not taken";
  }
  if (command == "delete") {
    reader.reset();
    writer.reset();
    return "deleted";
  }
  return "what?";
}

int obey_all(const iw::testing::Line& parent, Factory& factory) {
  parent.say("ready");
  for (;;) {
    const std::string command = parent.hear_text();
    if (command == "end") break;
    parent.say(obey(factory, command));
  }
  reader.reset();
  writer.reset();
  return 0;
}

Options options_of_environment() {
  Options options = std::getenv("MORTAL") != nullptr ? mortal() : quick();
  if (const char* life = std::getenv("LIFE_MS")) options.life_ms = std::stoi(life);
  if (const char* ping = std::getenv("PING_MS")) options.ping_ms = std::stoi(ping);
  if (const char* length = std::getenv("QUEUE")) options.queue_length = std::stoul(length);
  options.evaluates_in_background = std::getenv("BACKGROUND") != nullptr;
  return options;
}

}  // namespace

ROLE(containers_names) {
  if (AM_Init() != AM_OK) return 1;
  iw::am::NameServer server;
  en_t name;
  if (server.start(&name) != AM_OK) return 1;
  char text[AM_NAME_CARRIED_BYTES];
  AM_NameToCarried(name, text);
  parent.say(std::string(text));
  parent.hear();
  return 0;
}

ROLE(numbers_reader) {
  Factory factory;
  reader = factory.make_reader<Numbers>("numbers", std::make_shared<Numbers>(),
                                        options_of_environment());
  return obey_all(parent, factory);
}

ROLE(numbers_writer) {
  Factory factory;
  writer = factory.make_writer<Numbers>("numbers", std::make_shared<Numbers>(),
                                        options_of_environment());
  return obey_all(parent, factory);
}

// Sends the messages that it is told to the writer of "numbers", and answers all that come.
ROLE(containers_joiner) {
  struct All : Receiver {
    Answer take(const Head&, std::span<const std::byte>) override { return Answer::ok; }
    void answered(int, Answer, std::uint32_t) override {}
    void came_back(int) override {}
  };
  Factory factory;
  Endpoint here(std::make_shared<All>(), 10), another(std::make_shared<All>(), 10);
  en_t name;
  if (AMNS_Lookup("numbers", &name) != AM_OK) return 1;
  const int index = here.map(name);
  parent.say("ready");
  Head head;
  head.link = 1;
  for (;;) {
    const std::string command = parent.hear_text();
    if (command == "end") return 0;
    head.kind = command == "want the role" ? want_role : join;
    // In an earlier form a join named the endpoint that joins.
    const auto& name_in_it = command == "join as another" ? another.name() : here.name();
    here.send(index, head, std::as_bytes(std::span(&name_in_it, 1)));
    parent.say("asked");
  }
}

// Answers every message, and updates with QUEUE_FULL.
ROLE(containers_answerer) {
  struct All : Receiver {
    Answer take(const Head& head, std::span<const std::byte>) override {
      return head.kind > 0 ? Answer::queue_full : Answer::ok;
    }
    void answered(int, Answer, std::uint32_t) override {}
    void came_back(int) override {}
  };
  Factory factory;
  Endpoint endpoint(std::make_shared<All>(), 0);
  parent.say_value(endpoint.name());
  parent.hear();
  return 0;
}

// A writer and its reader. Says each time the value, the objects sent and the updates evaluated.
ROLE(late_number) {
  Factory factory;
  auto late = factory.make_writer<Late>("late", std::make_shared<Late>(), quick());
  auto copy = factory.make_reader<Late>("late", std::make_shared<Late>(), quick());
  for (;;) {
    const std::int64_t value = late->read()->value();
    const bool is_so = eventually([&] { return copy->read()->value() == value; });
    std::ostringstream text;
    text << (is_so ? value : -1) << " " << late->statistics().objects_sent << " "
         << copy->statistics().updates_evaluated;
    parent.say(text.str());
    const std::string command = parent.hear_text();
    if (command == "add") late->call<&Late::add>(5);
    if (command == "number") Functions<Late>::all().add<&Late::add>(4);
  }
}

// Reads all kinds of containers, and says what they hold when it is asked.
ROLE(kinds_reader) {
  Factory factory;
  register_object<aString>("aString");
  auto bag = factory.make_reader<Bag>("bag");
  auto map = factory.make_reader<Map<std::string, double>>("map");
  auto queue = factory.make_reader<Queue<std::string>>("queue");
  auto text = factory.make_reader<Text>("text");
  parent.say("ready");
  parent.hear();
  std::ostringstream all;
  for (const auto& each : bag->read()->objects) all << each->text() << ",";
  for (const auto& [key, value] : map->read()->value()) all << key << "=" << value << ",";
  for (const auto& each : queue->read()->value()) all << each << ",";
  parent.say(all.str() + text->read()->value());
  return 0;
}
