// The processes that are sent something, in one of the manners: of plain Active Messages, and
// readers of a container.
#include <interweave/am.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

#include "containers/board.h"
#include "containers/fan_out.h"
#include "containers/reader_inbox.h"

namespace bench {

using namespace iw::containers;

namespace {

// The only one of its process.
struct Receiving {
  std::unique_ptr<Board> board;
  int number = 0;
  Manner manner = Manner::sleeping;
  std::atomic<int> taken = 0;  // by the handler of one that shows
};
Receiving receiving;

void note() { receiving.board->note(receiving.number); }

void on_update(void* token, void*, std::size_t, int, int link, int, int sequence, int, int, int,
               int) {
  if (receiving.manner == Manner::showing) {
    receiving.taken++;
  } else {
    note();
  }
  AM_Reply3(token, answer_handler, link, 0, sequence);
}
// The last answers, when the asking process has ended.
void on_returned(int, op_t, const am_returned_t*) {}

void take_argument(const std::string& argument) {
  int fd = -1, manner = 0;
  if (std::sscanf(argument.c_str(), "%d,%d,%d", &fd, &receiving.number, &manner) != 3) {
    fail("a receiver's argument");
  }
  receiving.board = std::make_unique<Board>(fd);
  receiving.manner = static_cast<Manner>(manner);
}

void say_listening(const char* what) {
  std::printf("listening %s\n", what);
  std::fflush(stdout);
}

// Notes when an update is in the queue, where a program sees it at its next read.
struct NotingInbox : ReaderInbox {
  using ReaderInbox::ReaderInbox;
  Answer take(const Head& head, std::span<const std::byte> block) override {
    const Answer answer = ReaderInbox::take(head, block);
    if (head.kind > 0) note();
    return answer;
  }
};

void keep_a_queue() {
  const auto inbox = std::make_shared<NotingInbox>(roomy());
  Endpoint endpoint(inbox, 10);
  en_t writer;
  if (AMNS_Lookup("numbers", &writer) != AM_OK) fail("AMNS_Lookup");
  Head head;
  head.link = receiving.number + 1;
  head.kind = join;
  inbox->start(head.link);
  if (!endpoint.send(endpoint.map(writer), head, {})) fail("join");
  if (!inbox->wait_for_object(Clock::now() + std::chrono::seconds(30))) fail("no object");
  say_listening("now");
  while (receiving.manner == Manner::polling) endpoint.poll();
  pause();
}

[[noreturn]] void show_updates(Factory& factory) {
  Options options = roomy();
  options.polls_when_read = true;
  const auto reader = factory.make_reader<Numbers>("numbers", std::make_shared<Numbers>(), options);
  std::int64_t seen = reader->read()->value().at(0);
  say_listening("now");
  for (;;) {
    const std::int64_t now = reader->read()->value().at(0);
    if (now != seen) note();
    seen = now;
  }
}

[[noreturn]] void show_messages(eb_t bundle) {
  for (int shown = 0;;) {
    AM_Poll(bundle);
    for (; shown < receiving.taken; shown++) note();
  }
}

}  // namespace

// Nobody evaluates: so that only queueing is measured, queues have room for all.
Options roomy() {
  Options options;
  options.queue_length = 1 << 20;
  options.ping_ms = 60000;
  options.life_ms = 120000;
  return options;
}

MessageEnd::MessageEnd() {
  if (AM_AllocateBundle(AM_PAR, &bundle) != AM_OK) fail("AM_AllocateBundle");
  AM_AllocateEndpoint(bundle, &endpoint, &name);
  AM_SetHandler(endpoint, 0, reinterpret_cast<am_handler_fn>(&on_returned));
  AM_SetExpectedResources(endpoint, 1, 64);
  AM_SetTag(endpoint, message_tag);
}

MessageEnd::~MessageEnd() { AM_FreeBundle(bundle); }

int run_answerer(const std::string& argument) {
  take_argument(argument);
  if (AM_Init() != AM_OK || AMNS_Init(nullptr) != AM_OK) fail("AM_Init");  // as a reader has
  const MessageEnd here;
  AM_SetHandler(here.endpoint, update_handler, reinterpret_cast<am_handler_fn>(&on_update));
  char text[AM_NAME_CARRIED_BYTES];
  AM_NameToCarried(here.name, text);
  say_listening(text);
  if (receiving.manner == Manner::showing) show_messages(here.bundle);
  while (receiving.manner == Manner::polling) AM_Poll(here.bundle);
  pause();
  return 0;
}

int run_reader(const std::string& argument) {
  take_argument(argument);
  Factory factory;
  if (receiving.manner == Manner::showing) show_updates(factory);
  keep_a_queue();
  return 0;
}

}  // namespace bench
