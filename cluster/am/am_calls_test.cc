// Calls with each number of words: every word arrives at its place, there and back, in short, I and
// Xfer messages and in gets. Also the calls that only tell something.
#include <utility>

#include "am/am_processes.h"

using namespace iw::am_test;
using iw::testing::Child;

namespace {

constexpr std::size_t block_bytes = 40, request_offset = 1024, reply_offset = 2048;

// The handler of messages with M words has the number below plus M.
enum First : handler_t {
  ask_words = 16,
  ask_block = 32,
  ask_xfer = 48,
  take_words = 64,
  take_block = 80
};

// The calls with M words under one name.
template <std::size_t M>
struct Calls;
#define IW_CALLS(M)                                                     \
  template <>                                                           \
  struct Calls<M> {                                                     \
    static constexpr auto request = &AM_Request##M;                     \
    static constexpr auto request_block = &AM_RequestI##M;              \
    static constexpr auto request_xfer = &AM_RequestXfer##M;            \
    static constexpr auto request_xfer_async = &AM_RequestXferAsync##M; \
    static constexpr auto get = &AM_GetXfer##M;                         \
    static constexpr auto get_async = &AM_GetXferAsync##M;              \
    static constexpr auto reply = &AM_Reply##M;                         \
    static constexpr auto reply_block = &AM_ReplyI##M;                  \
    static constexpr auto reply_xfer = &AM_ReplyXfer##M;                \
  };
IW_CALLS(0)
IW_CALLS(1)
IW_CALLS(2)
IW_CALLS(3)
IW_CALLS(4)
IW_CALLS(5)
IW_CALLS(6)
IW_CALLS(7)
IW_CALLS(8)
#undef IW_CALLS

// The word that is sent at a place, and the word that the other answers to it. The answer depends
// on the place, so that two words that change places both ways are noticed.
constexpr int asked(std::size_t place) { return INT32_MIN + 7 * static_cast<int>(place); }
constexpr int answer(int word, std::size_t place) { return word + 100 * static_cast<int>(place); }

std::vector<std::byte> block_of(First kind, std::size_t m) {
  std::vector<std::byte> block(block_bytes);
  for (std::size_t i = 0; i < block_bytes; i++) {
    block[i] = static_cast<std::byte>(i + 3 * m + 5 * static_cast<std::size_t>(kind));
  }
  return block;
}

struct Taken {
  std::vector<int> words;
  std::vector<std::byte> block;
};
std::vector<Taken> taken;
int failures = 0;  // of replies, in the process that answers
void note(int result) { failures += result != AM_OK; }

template <std::size_t>
struct Word {
  using type = int;
};

template <typename Places>
struct With;
// Handlers of M = sizeof...(I) words, and the calls that lead to them.
template <std::size_t... I>
struct With<std::index_sequence<I...>> {
  static constexpr std::size_t m = sizeof...(I);
  using Call = Calls<m>;
  static constexpr handler_t number(First first) { return first + static_cast<handler_t>(m); }

  static void on_words(void* token, typename Word<I>::type... words) {
    note(Call::reply(token, number(take_words), answer(words, I)...));
  }
  static void on_block(void* token, void* block, std::size_t nbytes,
                       typename Word<I>::type... words) {
    note(Call::reply_block(token, number(take_block), block, nbytes, answer(words, I)...));
  }
  static void on_xfer(void* token, void* block, std::size_t nbytes,
                      typename Word<I>::type... words) {
    note(Call::reply_xfer(token, reply_offset, number(take_block), block, nbytes,
                          answer(words, I)...));
  }
  static void on_answer(void*, typename Word<I>::type... words) {
    taken.push_back({{words...}, {}});
  }
  static void on_answered_block(void*, void* block, std::size_t nbytes,
                                typename Word<I>::type... words) {
    const auto* bytes = static_cast<const std::byte*>(block);
    taken.push_back({{words...}, {bytes, bytes + nbytes}});
  }
  static void set(const Endpoint& endpoint) {
    endpoint.set(number(ask_words), handler(&on_words));
    endpoint.set(number(ask_block), handler(&on_block));
    endpoint.set(number(ask_xfer), handler(&on_xfer));
    endpoint.set(number(take_words), handler(&on_answer));
    endpoint.set(number(take_block), handler(&on_answered_block));
  }

  static void expect(const Endpoint& here, int sent, const std::vector<int>& words,
                     const std::vector<std::byte>& block) {
    EXPECT_EQ(sent, AM_OK);
    ASSERT_TRUE(here.poll_until([] { return !taken.empty(); }));
    ASSERT_EQ(taken.size(), 1u);
    EXPECT_EQ(taken[0].words, words);
    EXPECT_EQ(taken[0].block, block);
    taken.clear();
  }
  static void test(const Endpoint& here, int to) {
    SCOPED_TRACE(m);
    const std::vector<int> answered{answer(asked(I), I)...}, own{asked(I)...};
    const auto medium = block_of(ask_block, m), xfer = block_of(ask_xfer, m);
    expect(here, Call::request(here.ep, to, number(ask_words), asked(I)...), answered, {});
    expect(here,
           Call::request_block(here.ep, to, number(ask_block), medium.data(), block_bytes,
                               asked(I)...),
           answered, medium);
    for (const auto request : {Call::request_xfer, Call::request_xfer_async}) {
      expect(here,
             request(here.ep, to, request_offset, number(ask_xfer), xfer.data(), block_bytes,
                     asked(I)...),
             answered, xfer);
    }
    // Gets the block that the request left there. Handler and words are this process's own.
    for (const auto get : {Call::get, Call::get_async}) {
      expect(here,
             get(here.ep, to, request_offset, number(take_block), 0, block_bytes, asked(I)...), own,
             xfer);
    }
  }
};

// Each number of words.
template <typename Use>
void for_each_count(const Use& use) {
  const auto each = [&]<std::size_t... M>(std::index_sequence<M...>) {
    (use(With<std::make_index_sequence<M>>{}), ...);
  };
  each(std::make_index_sequence<AM_MAX_ARGS + 1>());
}

}  // namespace

ROLE(answerer) {
  const Library library;
  const Endpoint endpoint(AM_PAR);
  for_each_count([&](auto calls) { decltype(calls)::set(endpoint); });
  parent.say_value(endpoint.name);
  parent.hear();
  return failures;
}

class Words : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Over, Words, ::testing::ValuesIn(iw::testing::transports({"shm", "tcp"})),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(Words, OfEachNumberAndOfEachCallArriveAtTheirPlaces) {
  setenv("IW_FABRIC", GetParam(), 1);
  taken.clear();
  const Library library;
  const Endpoint here;
  for_each_count([&](auto calls) { decltype(calls)::set(here); });
  Child there("answerer");
  const int to = here.map(there.line().hear_value<en_t>());
  for_each_count([&](auto calls) { decltype(calls)::test(here, to); });
  there.line().say("end");
  EXPECT_EQ(there.wait_for_end(), 0) << "replies were refused";
}

namespace {

struct Told {
  en_t source;
  ep_t destination;
  tag_t tag;
};
std::vector<Told> told;

void tell(void* token) {
  Told& now = told.emplace_back();
  EXPECT_EQ(AM_GetSourceEndpoint(token, &now.source), AM_OK);
  EXPECT_EQ(AM_GetDestEndpoint(token, &now.destination), AM_OK);
  EXPECT_EQ(AM_GetMsgTag(token, &now.tag), AM_OK);
}

}  // namespace

TEST(Calls, TellAHandlerWhoSentItWhatToWhomWithWhichTag) {
  const Library library;
  const Endpoint from, here;
  ASSERT_EQ(AM_SetTag(here.ep, AM_ALL), AM_OK);
  here.set(1, handler(&tell));
  for (const tag_t tag : {tag_t{77}, AM_ALL - 1}) {
    told.clear();
    ASSERT_EQ(AM_Request0(from.ep, from.map(here.name, tag), 1), AM_OK);
    ASSERT_TRUE(here.poll_until([] { return !told.empty(); }));
    EXPECT_EQ(std::memcmp(told[0].source.bytes, from.name.bytes, sizeof from.name.bytes), 0);
    EXPECT_EQ(told[0].destination, here.ep);
    EXPECT_EQ(told[0].tag, tag);
  }
}

TEST(Calls, TellWhatWasSet) {
  const Library library;
  const Endpoint here;
  void* segment = nullptr;
  std::size_t nbytes = 0;
  EXPECT_EQ(AM_GetSeg(here.ep, &segment, &nbytes), AM_OK);
  EXPECT_EQ(segment, here.segment.data());
  EXPECT_EQ(nbytes, segment_bytes);
  int mask = -1, handlers = 0;
  EXPECT_EQ(AM_GetEventMask(here.bundle, &mask), AM_OK);
  EXPECT_EQ(mask, AM_NOEVENTS);
  EXPECT_EQ(AM_SetEventMask(here.bundle, AM_NOTEMPTY), AM_OK);
  EXPECT_EQ(AM_GetEventMask(here.bundle, &mask), AM_OK);
  EXPECT_EQ(mask, AM_NOTEMPTY);
  EXPECT_EQ(AM_GetNumHandlers(here.ep, &handlers), AM_OK);
  EXPECT_EQ(handlers, 256);
  EXPECT_EQ(AM_SetNumHandlers(here.ep, AM_MaxNumHandlers()), AM_OK);
  EXPECT_EQ(AM_SetNumHandlers(here.ep, AM_MaxNumHandlers() + 1), AM_ERR_BAD_ARG);
  EXPECT_EQ(AM_GetNumHandlers(here.ep, &handlers), AM_OK);
  EXPECT_EQ(handlers, AM_MaxNumHandlers());
}

extern "C" int set_uncast_handlers(ep_t endpoint);

TEST(Calls, TakeHandlersWithoutACast) {
  const Library library;
  const Endpoint here;
  EXPECT_EQ(set_uncast_handlers(here.ep), AM_OK);
  void (*const in_cpp)(void*, int) = [](void*, int) {};
  EXPECT_EQ(AM_SetHandler(here.ep, 9, in_cpp), AM_OK);
  EXPECT_EQ(AM_SetHandler(here.ep, 9, nullptr), AM_OK);
}

TEST(Calls, TellTheLimitsThatHold) {
  const Library library;
  const Endpoint here;
  EXPECT_EQ(AM_MaxShort(), AM_MAX_ARGS);
  int translations = 0;
  ASSERT_EQ(AM_MaxNumTranslations(&translations), AM_OK);
  EXPECT_EQ(AM_SetNumTranslations(here.ep, translations), AM_OK);
  EXPECT_EQ(AM_SetNumTranslations(here.ep, translations + 1), AM_ERR_BAD_ARG);
  std::size_t segment = 0;
  ASSERT_EQ(AM_MaxSegLength(&segment), AM_OK);
  EXPECT_GE(segment, segment_bytes);
}

TEST(Calls, WaitSemaWaitsAsWaitDoes) {
  const Library library;
  const Endpoint from, here;
  EXPECT_EQ(AM_WaitSema(here.bundle), AM_ERR_BAD_ARG) << "no event is awaited";
  ASSERT_EQ(AM_SetEventMask(here.bundle, AM_NOTEMPTY), AM_OK);
  here.set(1, handler(&tell));
  told.clear();
  ASSERT_EQ(AM_Request0(from.ep, from.map(here.name), 1), AM_OK);
  ASSERT_EQ(AM_WaitSema(here.bundle), AM_OK);
  EXPECT_TRUE(told.empty());
  ASSERT_EQ(AM_Poll(here.bundle), AM_OK);
  EXPECT_EQ(told.size(), 1u);
}
