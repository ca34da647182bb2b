// A bundle whose peers come and go without end: connections that have ended make room.
#include <deque>

#include "am/am_processes.h"
#include "am/bundle.h"

using namespace iw::am_test;

namespace {

int answered = 0;
void on_question(void* token, int word) { AM_Reply1(token, 2, word); }
void on_answer(void*, int word) { answered = word; }

ep_t new_endpoint(eb_t bundle) {
  ep_t ep = nullptr;
  EXPECT_EQ(AM_AllocateEndpoint(bundle, &ep, nullptr), AM_OK);
  EXPECT_EQ(AM_SetTag(ep, right_tag), AM_OK);
  EXPECT_EQ(AM_SetExpectedResources(ep, 1, 1), AM_OK);
  EXPECT_EQ(AM_SetHandler(ep, 2, handler(&on_answer)), AM_OK);
  return ep;
}

}  // namespace

TEST(Connections, MoreThanThereIsRoomForOneAfterTheOther) {
  constexpr std::size_t room = 4;
  const Library library;
  const Endpoint stays(AM_PAR), comes(AM_SEQ);
  stays.bundle->connections_allowed = room;
  stays.set(1, handler(&on_question));
  std::deque<ep_t> guests;
  const auto let_in = [&] {
    guests.push_back(new_endpoint(comes.bundle));
    return AM_Map(guests.back(), 0, stays.name, right_tag);
  };
  for (std::size_t i = 0; i < room; i++) ASSERT_EQ(let_in(), AM_OK);
  ASSERT_EQ(let_in(), AM_ERR_NOT_SENT) << "one more than there is room for";
  guests.pop_back();
  for (std::size_t i = 0; i < 20 * room; i++) {
    ASSERT_EQ(AM_FreeEndpoint(guests.front()), AM_OK);
    guests.pop_front();
    ASSERT_EQ(let_in(), AM_OK) << i;
    const int word = static_cast<int>(i) + 1;
    ASSERT_EQ(AM_Request1(guests.back(), 0, 1, word), AM_OK);
    ASSERT_TRUE(comes.poll_until([&] { return answered == word; })) << "not of another's answer";
  }
}

// A connection that is still mapped keeps its place until it is unmapped.
TEST(Connections, AMappingOutlivesItsEnd) {
  const Library library;
  const Endpoint stays(AM_PAR), comes(AM_SEQ);
  const ep_t gone = new_endpoint(comes.bundle);
  en_t name;
  ASSERT_EQ(AM_GetEndpointName(gone, &name), AM_OK);
  const int to_gone = stays.map(name);
  ASSERT_EQ(AM_FreeEndpoint(gone), AM_OK);
  stays.set(2, handler(&on_answer));
  EXPECT_TRUE(
      stays.poll_until([&] { return AM_Request1(stays.ep, to_gone, 1, 0) == AM_ERR_NOT_SENT; }));
  for (int i = 0; i < 10; i++) {  // others come and take places
    const ep_t guest = new_endpoint(comes.bundle);
    ASSERT_EQ(AM_Map(guest, 0, stays.name, right_tag), AM_OK);
    ASSERT_EQ(AM_FreeEndpoint(guest), AM_OK);
  }
  EXPECT_EQ(AM_Request1(stays.ep, to_gone, 1, 0), AM_ERR_NOT_SENT);
  EXPECT_EQ(AM_UnMap(stays.ep, to_gone), AM_OK);
}
