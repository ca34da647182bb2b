// Frames: how messages become bytes, and bytes messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "protocol/notify.gen.h"
#include "session/frames_fixture.h"

namespace iw::session {
namespace {

TEST(Frames, Frame3ALargeMessageTravelsInChunksHoweverItIsCut) {
  const Bytes bulk = pattern(3 * protocol::MAX_CHUNK_BYTES + 17);
  const std::vector<std::uint8_t> body = encoded(protocol::credit{3, 4});
  const Bytes bytes = message(message_type::PUSH, 9, body, bulk);
  for (const std::size_t piece : {std::size_t{1000}, std::size_t{65536}, bytes.size()}) {
    FrameReader reader;
    std::vector<Message> out;
    ASSERT_TRUE(feed(reader, bytes, piece, out)) << reader.why();
    ASSERT_EQ(out.size(), 2u);
    for (const Message& message : out) {
      EXPECT_EQ(message.head.stream, 9u);
      EXPECT_EQ(message.body, body);
    }
    EXPECT_EQ(out[0].part, Part::first);
    EXPECT_EQ(out[1].part, Part::rest);
    EXPECT_EQ(out[1].frame_bytes, bytes.size());
    const std::span<const std::byte> got = out[1].bulk.bytes();
    EXPECT_TRUE(std::equal(got.begin(), got.end(), bulk.begin(), bulk.end()));
  }
}

// Messages between its frames may have been caused by it.
TEST(Frames, Not6AMessageIsToldOfOnceItsFirstFrameHasCome) {
  const Bytes bulk = pattern(protocol::MAX_CHUNK_BYTES + 1);
  const Bytes large = message(message_type::PUSH, 9, {}, bulk);
  const std::size_t first_bytes = large.size() - 24 - 1;  // the second frame: lengths, envelope, 1
  const Bytes heartbeat = message(message_type::HEARTBEAT, 10, {});
  Bytes bytes(large.begin(), large.begin() + static_cast<std::ptrdiff_t>(first_bytes));
  bytes.insert(bytes.end(), heartbeat.begin(), heartbeat.end());
  bytes.insert(bytes.end(), large.begin() + static_cast<std::ptrdiff_t>(first_bytes), large.end());
  for (const std::size_t piece : {std::size_t{1000}, bytes.size()}) {
    FrameReader reader;
    std::vector<Message> out;
    ASSERT_TRUE(feed(reader, bytes, piece, out)) << reader.why();
    ASSERT_EQ(out.size(), 3u);
    EXPECT_EQ(out[0].part, Part::first);
    EXPECT_EQ(out[1].part, Part::whole);
    EXPECT_EQ(out[1].head.stream, 10u);
    EXPECT_EQ(out[2].part, Part::rest);
  }
}

TEST(Frames, SmallMessagesComeOutOneByOneAndInOrder) {
  Bytes bytes;
  for (std::uint32_t stream = 1; stream <= 20; ++stream) {
    const Bytes one = message(message_type::DONE, stream, {}, pattern(stream));
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  for (const std::size_t piece : {std::size_t{1}, std::size_t{13}, bytes.size()}) {
    FrameReader reader;
    std::vector<Message> out;
    ASSERT_TRUE(feed(reader, bytes, piece, out)) << reader.why();
    ASSERT_EQ(out.size(), 20u);
    for (std::uint32_t i = 0; i < 20; ++i) {
      EXPECT_EQ(out[i].head.stream, i + 1);
      EXPECT_EQ(out[i].bulk.size_bytes(), i + 1);
    }
  }
}

TEST(Frames, FramesOfTwoMessagesMayBeInterleaved) {
  const Bytes first = pattern(2 * protocol::MAX_CHUNK_BYTES);
  const Bytes second = pattern(protocol::MAX_CHUNK_BYTES + 1);
  const Slice slices[] = {{first.data(), first.size()}, {second.data(), second.size()}};
  FrameWriter one(message_type::PUSH, 1, {}, {&slices[0], 1});
  FrameWriter two(message_type::PUSH, 2, {}, {&slices[1], 1});
  Bytes bytes;
  for (bool more = true; more;) {
    more = false;
    for (FrameWriter* writer : {&one, &two}) {
      for (const Slice& slice : writer->next(1)) {
        const auto* const from = static_cast<const std::byte*>(slice.data);
        bytes.insert(bytes.end(), from, from + slice.size_bytes);
        more = true;
      }
    }
  }
  FrameReader reader;
  std::vector<Message> out;
  ASSERT_TRUE(feed(reader, bytes, 100000, out)) << reader.why();
  ASSERT_EQ(out.size(), 4u);
  for (const Message& message : out) {
    if (message.part == Part::first) continue;
    const Bytes& wanted = message.head.stream == 1 ? first : second;
    const std::span<const std::byte> got = message.bulk.bytes();
    EXPECT_TRUE(std::equal(got.begin(), got.end(), wanted.begin(), wanted.end()));
  }
}

TEST(Frames, Frame1And4WhatIsNoFrameIsRefused) {
  constexpr auto push = static_cast<std::int32_t>(message_type::PUSH);
  constexpr auto go_on = static_cast<std::int32_t>(message_type::CONTINUE);
  const Bytes wrong[] = {
      frame(protocol::MAX_CONTROL_BYTES + 1, 0, {push, 1, 0}),
      frame(16, protocol::MAX_CHUNK_BYTES + 1, {push, 1, 1 << 20}),
      frame(16, 5, {push, 1, 4}, 5),
      frame(16, 0, {go_on, 1, 0}),
      frame(8, 0, {push, 1, 0}),
      frame(16, 0, {push, 1, std::uint64_t{1} << 50}),
  };
  for (const Bytes& bytes : wrong) {
    FrameReader reader;
    std::vector<Message> out;
    EXPECT_FALSE(feed(reader, bytes, bytes.size(), out));
    EXPECT_NE(reader.why(), "");
  }
}

TEST(Frames, ManyIncompleteMessagesAreRefused) {
  FrameReader reader;
  std::vector<Message> out;
  constexpr auto push = static_cast<std::int32_t>(message_type::PUSH);
  for (std::uint32_t i = 1; i <= protocol::MAX_OPEN_STREAMS; ++i) {
    ASSERT_TRUE(feed(reader, frame(16, 0, {push, i, 1}), 1000, out));
  }
  EXPECT_FALSE(feed(reader, frame(16, 0, {push, 1000, 1}), 1000, out));
  EXPECT_EQ(reader.why(), "too many messages are incomplete");
}

TEST(Frames, Frame1TheLargestThatTheProtocolAllowsAreTaken) {
  constexpr auto push = static_cast<std::int32_t>(message_type::PUSH);
  FrameReader reader;
  reader.set_max_bulk_bytes(protocol::MAX_CHUNK_BYTES);
  std::vector<Message> out;
  const Bytes control =
      frame(protocol::MAX_CONTROL_BYTES, 0, {push, 1, 0}, protocol::MAX_CONTROL_BYTES - 16);
  ASSERT_TRUE(feed(reader, control, 10'000, out)) << reader.why();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].body.size(), protocol::MAX_CONTROL_BYTES - 16);
  EXPECT_EQ(out[0].frame_bytes, control.size());
  const Bytes chunk = message(message_type::PUSH, 1, {}, pattern(protocol::MAX_CHUNK_BYTES));
  ASSERT_TRUE(feed(reader, chunk, 10'000, out)) << reader.why();
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[1].part, Part::whole);
  EXPECT_FALSE(feed(reader,
                    message(message_type::PUSH, 1, {}, pattern(protocol::MAX_CHUNK_BYTES + 1)),
                    10'000, out));
  EXPECT_EQ(reader.why(), "a message is too large");
}

TEST(Frames, WhyBytesAreRefusedIsSaid) {
  constexpr auto push = static_cast<std::int32_t>(message_type::PUSH);
  constexpr auto go_on = static_cast<std::int32_t>(message_type::CONTINUE);
  const auto why = [](std::initializer_list<Bytes> frames) {
    FrameReader reader;
    std::vector<Message> out;
    bool good = true;
    for (const Bytes& bytes : frames) good = good && feed(reader, bytes, bytes.size(), out);
    EXPECT_FALSE(good);
    return reader.why();
  };
  EXPECT_EQ(why({frame(0x48545450, 0, {push, 1, 0})}),
            "the peer speaks HTTP; clients use the port that the server prints as listening");
  EXPECT_EQ(why({frame(65537, 5, {push, 1, 0})}),
            "a frame's head says 65537 and 5 bytes, more than the protocol allows");
  EXPECT_EQ(why({frame(15, 0, {push, 1, 0})}), "a frame's control part does not hold an envelope");
  EXPECT_EQ(why({frame(16, 0, {go_on, 1, 0})}), "a chunk continues a message that has not begun");
  EXPECT_EQ(why({frame(16, 0, {push, 1, 4}), frame(16, 5, {go_on, 1, 0}, 5)}),
            "a message is longer than it said");
  EXPECT_EQ(why({frame(16, 3, {push, 1, 4}, 3), frame(16, 2, {go_on, 1, 0}, 2)}),
            "a message is longer than it said");
  EXPECT_EQ(why({frame(16, 5, {push, 1, 4}, 5)}), "a message is longer than it said");
  EXPECT_EQ(why({frame(16, 0, {push, 1, 4}), frame(16, 0, {push, 1, 4})}),
            "a message begins on the stream of one that is not complete");
}

TEST(Frames, Frame3AWriterGivesAsManyFramesAsTheBudgetTakesAndOneAtLeast) {
  const Bytes bulk = pattern(3 * protocol::MAX_CHUNK_BYTES + 17);
  // Slices that do not end where chunks do, and an empty one.
  const std::size_t cuts[] = {0, 100, 100, 300'000, bulk.size()};
  std::vector<Slice> slices;
  for (std::size_t i = 1; i < std::size(cuts); ++i) {
    slices.push_back({bulk.data() + cuts[i - 1], cuts[i] - cuts[i - 1]});
  }
  const auto chunks_of = [](std::span<const Slice> given) {
    std::size_t heads = 0;
    for (const Slice& slice : given) heads += slice.size_bytes == 24 ? 1 : 0;
    return heads;
  };
  constexpr std::size_t chunk = protocol::MAX_CHUNK_BYTES;
  for (const std::size_t budget : {std::size_t{1}, chunk, 2 * chunk - 1, 2 * chunk, bulk.size()}) {
    FrameWriter writer(message_type::PUSH, 9, {}, slices);
    EXPECT_EQ(writer.bulk_bytes(), bulk.size());
    EXPECT_EQ(writer.frame_bytes(), bulk.size() + 4 * std::size_t{24});
    const std::size_t together = std::max<std::size_t>(1, budget / chunk);
    std::size_t left = 4;
    while (left > 0) {
      const std::size_t wanted = budget == bulk.size() ? 4 : std::min(together, left);
      const std::size_t given = chunks_of(writer.next(budget));
      // The last chunk is small, and may go with one that takes the budget but for it.
      if (left > 2) {
        EXPECT_EQ(given, wanted) << budget;
      }
      ASSERT_GT(given, 0u);
      left -= given;
    }
    EXPECT_TRUE(writer.next(budget).empty());
    FrameWriter again(message_type::PUSH, 9, {}, slices);
    const Bytes bytes = frames_of(again, budget);
    EXPECT_EQ(bytes.size(), again.frame_bytes());
    FrameReader reader;
    std::vector<Message> out;
    ASSERT_TRUE(feed(reader, bytes, 70'000, out)) << reader.why();
    const std::span<const std::byte> got = out.back().bulk.bytes();
    EXPECT_TRUE(std::equal(got.begin(), got.end(), bulk.begin(), bulk.end()));
  }
}

// And a chunk that others follow together with the head of the next.
TEST(Frames, ALargeChunkIsReceivedWhereItStays) {
  constexpr std::size_t chunk = protocol::MAX_CHUNK_BYTES;
  for (const std::size_t last : {std::size_t{8191}, std::size_t{8192}}) {
    const Bytes bytes = message(message_type::PUSH, 9, {}, pattern(chunk + last));
    FrameReader reader;
    std::vector<Message> out;
    std::size_t at = 0;
    const auto feed_up_to = [&](std::size_t end) {
      const std::span<const std::byte> part = std::span(bytes).subspan(at, end - at);
      ASSERT_EQ(reader.space().put(part), part.size());
      ASSERT_TRUE(reader.received(part.size(), out));
      at = end;
    };
    feed_up_to(24);
    EXPECT_EQ(reader.space().first.size(), chunk);
    EXPECT_EQ(reader.space().rest.size(), 512u);
    feed_up_to(24 + chunk - 8192);
    EXPECT_EQ(reader.space().first.size(), 8192u);
    feed_up_to(24 + chunk + 24);
    EXPECT_EQ(reader.space().first.size() == last, last == 8192);
    EXPECT_TRUE(reader.space().rest.empty());
    feed_up_to(bytes.size());
    ASSERT_EQ(out.size(), 2u);
    EXPECT_EQ(out[1].bulk.size_bytes(), chunk + last);
    EXPECT_EQ(out[1].frame_bytes, bytes.size());
  }
}

TEST(Frames, RandomBytesAreRefusedOrWaitForMore) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    Bytes bytes(200);
    for (std::byte& one : bytes) one = static_cast<std::byte>(random() % 3 == 0 ? random() : 0);
    FrameReader reader;
    std::vector<Message> out;
    (void)feed(reader, bytes, 1 + random() % 50, out);
  }
}

}  // namespace
}  // namespace iw::session
