// The library drops messages that only a program without this library would send.
#include "am/am_processes.h"
#include "am/bundle.h"

using namespace iw::am_test;
using iw::am::Category, iw::am::Head, iw::am::Kind;

namespace {

int handled, came_back;

// An endpoint that sends itself any message.
struct Forger {
  Forger() {
    handled = came_back = 0;
    endpoint.set(1, handler(+[](void*, void*, std::size_t) { handled++; }));
    endpoint.set(0, handler(+[](int, op_t, const am_returned_t*) { came_back++; }));
    connection = endpoint.ep->translations[to_itself].connection;
    expected = endpoint.bundle->messages_received;
  }
  Head request(Category category) const {
    Head head;
    head.kind = Kind::request;
    head.category = static_cast<std::uint8_t>(category);
    head.handler = 1;
    head.connection = connection->id_there;
    head.tag = right_tag;
    return head;
  }
  void send_bytes(std::span<const std::byte> header, std::span<const std::byte> block = {}) const {
    endpoint.bundle->worker().send(connection->peer, 0, header, block, nullptr);
  }
  void send(const Head& head) const { send_bytes(iw::fabric::bytes_of(head)); }
  // Polls until so many more messages have arrived. Some may have arrived while others were sent.
  bool take(std::uint64_t count) {
    expected += count;
    return endpoint.poll_until([&] { return endpoint.bundle->messages_received >= expected; });
  }
  // A request that is sent now arrives after all forged messages. It and its answer alone count.
  // REQUIRES: the forged messages that count were taken.
  void expect_that_nothing_else_comes() {
    const int handled_before = handled;
    ASSERT_EQ(AM_RequestI0(endpoint.ep, to_itself, 1, nullptr, 0), AM_OK);
    EXPECT_TRUE(take(2));
    EXPECT_EQ(endpoint.bundle->messages_received, expected);
    expect_handled(handled_before + 1);
  }
  // A message that the service thread received waits for the next poll.
  void expect_handled(int count) const {
    EXPECT_TRUE(endpoint.poll_until([&] { return handled >= count; }));
    EXPECT_EQ(handled, count);
  }
  const Library library;
  const Endpoint endpoint;
  const int to_itself = endpoint.map(endpoint.name);
  iw::am::Connection* connection = nullptr;
  std::uint64_t expected = 0;  // messages that have arrived, or are to
};

}  // namespace

// [AM-12] [AM-13]
TEST(Forged, RequestsForHandlersOrOfKindsThatAreNoneAreRefused) {
  Forger forger;
  for (const int category : {0, 1, 2, 3, 5, 255}) {
    Head head = forger.request(static_cast<Category>(category));
    head.handler = iw::am::no_handler;
    forger.send(head);
    head.handler = 1;
    if (category == 0 || category > 4) forger.send(head);
  }
  EXPECT_TRUE(forger.take(9 * 2)) << "each is refused by a message";
  EXPECT_EQ(handled, 0);
}

// [AM-12]
TEST(Forged, AReplyThatAsksForBytesIsRefused) {
  Forger forger;
  ASSERT_EQ(AM_RequestI0(forger.endpoint.ep, forger.to_itself, 1, nullptr, 0), AM_OK);
  Head head = forger.request(Category::get);
  head.kind = Kind::reply;
  forger.send(head);  // in reply to the request that is under way
  EXPECT_TRUE(forger.take(4)) << "the request, the two replies, and one of them back";
  forger.expect_handled(1);  // the request itself
}

// [AM-18]
TEST(Forged, AReturnedReplyThatNobodySentIsDropped) {
  Forger forger;
  for (const int category : {0, 4, 5, 255}) {
    Head head = forger.request(static_cast<Category>(category));
    head.kind = Kind::returned_reply;
    forger.send(head);
  }
  EXPECT_TRUE(forger.take(4));
  forger.expect_that_nothing_else_comes();
  EXPECT_EQ(came_back, 0) << "handler 0 is told of operations that am.h names, and no other";
}

// [AM-12]
TEST(Forged, AGetOfTooMuchOrWithAnotherBlockIsRefused) {
  Forger forger;
  std::vector<std::byte> segment(64);
  AM_SetSeg(forger.endpoint.ep, segment.data(), segment.size());
  const Head head = forger.request(Category::get);
  const iw::am::GetBody too_much{0, iw::am::long_bytes_max + 1u};
  forger.send_bytes(iw::fabric::bytes_of(head), iw::fabric::bytes_of(too_much));
  const iw::am::GetBody sound{0, 8};
  forger.send_bytes(iw::fabric::bytes_of(head), iw::fabric::bytes_of(sound).first(15));
  EXPECT_TRUE(forger.take(2 * 2)) << "each is refused by a message";
  EXPECT_EQ(handled, 0);
}

// [AM-2] [FAB-1]
TEST(Forged, HeadersOfAnotherSizeOrWithNumbersThatAreNoneAreDropped) {
  Forger forger;
  const Head head = forger.request(Category::block);
  std::array<std::byte, 128> long_header{};
  std::memcpy(long_header.data(), &head, sizeof head);
  for (const std::size_t bytes : {0u, 1u, 31u, 33u, 36u, 40u, 128u}) {
    forger.send_bytes(std::span(long_header).first(bytes));
  }
  for (const int words : {1, 2, 9, 255}) {
    Head other = head;
    other.n_args = static_cast<std::uint8_t>(words);
    forger.send(other);
  }
  for (const int kind : {0, 10, 255}) {
    Head other = head;
    other.kind = static_cast<Kind>(kind);
    forger.send(other);
  }
  forger.expect_that_nothing_else_comes();
}

// [AM-4]
TEST(Forged, WhatNamesNoOpenConnectionOfItsSendersIsDropped) {
  Forger forger;
  for (const std::uint32_t other : {1u, 1u << iw::am::place_bits, ~0u}) {
    Head head = forger.request(Category::block);
    head.connection += other;
    forger.send(head);
  }
  EXPECT_TRUE(forger.take(3));
  EXPECT_EQ(handled, 0);
  forger.expect_that_nothing_else_comes();
}

// [AM-8]
TEST(Forged, RepliesToNoRequestAreDropped) {
  Forger forger;
  for (const int slot : {0, 1, 65535}) {
    Head head = forger.request(Category::block);
    head.kind = Kind::reply;
    head.slot = static_cast<std::uint16_t>(slot);
    forger.send(head);
    head.kind = Kind::returned_request;
    forger.send(head);
  }
  EXPECT_TRUE(forger.take(6));
  EXPECT_EQ(handled + came_back, 0);
  forger.expect_that_nothing_else_comes();
}

// [AM-9]
TEST(Forged, ACountOfMoreRepliesThanWereSentChangesNothing) {
  Forger forger;
  for (const std::uint32_t count : {1u, 1000u, ~0u}) {
    Head head = forger.request(Category::words);
    head.kind = Kind::acknowledge;
    head.replies_handled = count;
    forger.send(head);
  }
  EXPECT_TRUE(forger.take(3));
  EXPECT_EQ(forger.connection->replies_acknowledged, 0u);
  forger.expect_that_nothing_else_comes();
}

// [AM-10]
TEST(Forged, WhoAsksWhetherAllIsHandledIsAnswered) {
  Forger forger;
  Head head = forger.request(Category::words);
  head.kind = Kind::ask_handled;
  forger.send(head);
  EXPECT_TRUE(forger.take(2)) << "the question and its answer";
}
