// The inboxes of a reader and a writer, without processes.
#include <gtest/gtest.h>

#include "containers/reader_inbox.h"
#include "containers/writer_inbox.h"

namespace iw::containers {
namespace {

constexpr int link_number = 77;

class ReaderInboxes : public ::testing::Test {
 protected:
  ReaderInboxes() : inbox_(options()) { inbox_.start(link_number); }
  static Options options() {
    Options options;
    options.queue_length = 2;
    return options;
  }
  static Head head(int kind, std::uint32_t sequence, std::uint32_t part = 0) {
    Head head;
    head.link = link_number;
    head.kind = kind;
    head.sequence = sequence;
    head.part = part;
    head.life_ms = 1000;
    return head;
  }
  Answer take(int kind, std::uint32_t sequence, std::uint32_t part = 0, std::size_t bytes = 4) {
    return inbox_.take(head(kind, sequence, part), std::vector<std::byte>(bytes));
  }
  ReaderInbox inbox_;
};

}  // namespace

// [CONT-3]
TEST_F(ReaderInboxes, AnswerOtherLinksThatTheyAreGone) {
  Head other = head(whole_object, 0);
  for (const int link : {0, -link_number, link_number + 1}) {
    other.link = link;
    EXPECT_EQ(inbox_.take(other, {}), Answer::gone) << link;
  }
  EXPECT_TRUE(inbox_.is_behind());
  EXPECT_EQ(take(writer_ended, 0), Answer::ok);
  EXPECT_EQ(take(whole_object, 0), Answer::gone) << "the link has ended";
}

// [CONT-5]
TEST_F(ReaderInboxes, PutPartsTogetherThatFollowEachOther) {
  EXPECT_EQ(take(whole_object, 0, 0, part_bytes), Answer::ok);
  EXPECT_EQ(take(whole_object, 0, 1, part_bytes), Answer::ok);
  EXPECT_TRUE(inbox_.is_behind());
  EXPECT_EQ(take(whole_object, 0, 2, 0), Answer::ok);
  EXPECT_FALSE(inbox_.is_behind());
  const auto batch = inbox_.take_batch();
  ASSERT_TRUE(batch.object.has_value());
  EXPECT_EQ(batch.object->buffers.size(), 3u);
}

// [CONT-5]
TEST_F(ReaderInboxes, DropAnItemWhosePartsDoNotFollowEachOther) {
  struct Next {
    int kind;
    std::uint32_t sequence, part;
  };
  for (const Next next : {Next{1, 1, 2}, Next{1, 2, 1}, Next{2, 1, 1}, Next{1, 1, ~0u}}) {
    inbox_.start(link_number);
    ASSERT_EQ(take(whole_object, 0), Answer::ok);
    ASSERT_EQ(take(1, 1, 0, part_bytes), Answer::ok);
    EXPECT_EQ(take(next.kind, next.sequence, next.part), Answer::queue_full);
    EXPECT_TRUE(inbox_.is_behind());
  }
}

// [CONT-5]
TEST_F(ReaderInboxes, DropAnUpdateThatIsTooLarge) {
  ASSERT_EQ(take(whole_object, 0), Answer::ok);
  constexpr std::uint32_t most = update_bytes_max / part_bytes;
  for (std::uint32_t part = 0; part < most; part++) {
    ASSERT_EQ(take(1, 1, part, part_bytes), Answer::ok);
  }
  EXPECT_EQ(take(1, 1, most, 1), Answer::queue_full);
  EXPECT_TRUE(inbox_.is_behind());
}

// [CONT-6] [CONT-7]
TEST_F(ReaderInboxes, AreBehindAfterAGapUntilAWholeObjectComes) {
  ASSERT_EQ(take(whole_object, 5), Answer::ok);
  EXPECT_EQ(take(1, 6), Answer::ok);
  EXPECT_EQ(take(1, 8), Answer::queue_full);
  EXPECT_EQ(take(1, 7), Answer::ok) << "it is dropped";
  EXPECT_EQ(inbox_.queued(), 1u);
  EXPECT_EQ(take(whole_object, 9), Answer::ok);
  EXPECT_EQ(inbox_.queued(), 0u);
  EXPECT_FALSE(inbox_.is_behind());
  EXPECT_EQ(take(1, 10), Answer::ok);
  EXPECT_EQ(inbox_.queued(), 1u);
}

// [CONT-8]
TEST_F(ReaderInboxes, KeepAsManyUpdatesAsTheirQueueIsLong) {
  ASSERT_EQ(take(whole_object, ~0u), Answer::ok) << "the number may wrap";
  EXPECT_EQ(take(1, 0), Answer::ok);
  EXPECT_EQ(take(1, 1), Answer::ok);
  EXPECT_EQ(take(1, 2), Answer::queue_full);
  EXPECT_EQ(inbox_.queued(), 2u);
}

// [CONT-11]
TEST_F(ReaderInboxes, TakeALifeWithinItsBounds) {
  Head said = head(ping, 0);
  for (const auto& [life_ms, taken] :
       {std::pair{-1, 1}, {0, 1}, {500, 500}, {life_ms_max + 1, life_ms_max}}) {
    said.life_ms = life_ms;
    EXPECT_EQ(inbox_.take(said, {}), Answer::ok);
    EXPECT_EQ(inbox_.life_ms(), taken);
  }
}

// [CONT-4]
TEST(WriterInboxes, TakeALinkOnceAndOnlyWhileReadersMayJoin) {
  WriterInbox inbox;
  EXPECT_EQ(inbox.take_join(0, {}), Answer::gone);
  EXPECT_EQ(inbox.take_join(-1, {}), Answer::gone);
  EXPECT_EQ(inbox.take_join(1, {}), Answer::ok);
  EXPECT_EQ(inbox.take_join(1, {}), Answer::gone);
  for (int link = 2; link <= joiners_max; link++) ASSERT_EQ(inbox.take_join(link, {}), Answer::ok);
  EXPECT_EQ(inbox.take_join(joiners_max + 1, {}), Answer::gone);
  inbox.take_news();
  inbox.set_joining(false);
  EXPECT_EQ(inbox.take_join(joiners_max + 1, {}), Answer::gone);
}

// [CONT-3] [CONT-14]
TEST(WriterInboxes, RefuseARoleThatIsNotGivenOrThatAnotherWants) {
  WriterInbox inbox;
  Head asking;
  asking.kind = want_role;
  asking.link = 1;
  EXPECT_EQ(inbox.take(asking, {}), Answer::gone) << "the link is not open";
  inbox.open(1);
  inbox.open(2);
  EXPECT_EQ(inbox.take(asking, {}), Answer::refused);
  inbox.set_giving(true);
  EXPECT_EQ(inbox.take(asking, {}), Answer::ok);
  asking.link = 2;
  EXPECT_EQ(inbox.take(asking, {}), Answer::refused);
  asking.kind = whole_object;
  EXPECT_EQ(inbox.take(asking, {}), Answer::refused) << "a kind that is not for writers";
}

// [CONT-2] [FAB-1]
TEST(Answers, OfNumbersThatMeanNothingAreNot) {
  for (const int answer : {0, 1, 2, 3})
    EXPECT_TRUE(check(AnswerWords{1, static_cast<Answer>(answer), 0}));
  for (const int answer : {-1, 4, 1 << 30}) {
    EXPECT_FALSE(check(AnswerWords{1, static_cast<Answer>(answer), 0}));
  }
}

// [CONT-10]
TEST(Checksums, AreOfKindSignaturePartAndEachByte) {
  const std::vector<std::byte> block{std::byte{1}, std::byte{2}};
  EXPECT_EQ(checksum_of(0, 0, 0, {}), 0x4ab0f7b7u) << "FNV-1a of three words of zero";
  const auto all = checksum_of(1, 2, 3, block);
  EXPECT_NE(all, checksum_of(2, 2, 3, block));
  EXPECT_NE(all, checksum_of(1, 3, 3, block));
  EXPECT_NE(all, checksum_of(1, 2, 4, block));
  EXPECT_NE(all, checksum_of(1, 2, 3, std::span(block).first(1)));
}

}  // namespace iw::containers
