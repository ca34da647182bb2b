// Which question an answer belongs to.
#include "fabric/open_questions.h"

#include <gtest/gtest.h>

using namespace iw::fabric;

namespace {

struct Asked : OpenQuestion {
  int what = 0;
};

}  // namespace

// [FAB-6]
TEST(OpenQuestions, AreFoundByPlaceAndMarkAndThePeerThatWasAsked) {
  OpenQuestions<Asked> all;
  Asked& first = all.open(7, 100);
  Asked& second = all.open(8, 101);
  EXPECT_NE(first.place, second.place);
  EXPECT_EQ(all.find(first.place, 100, 7), &first);
  EXPECT_EQ(all.find(second.place, 101, 8), &second);
  EXPECT_EQ(all.find(first.place, 101, 7), nullptr) << "another mark";
  EXPECT_EQ(all.find(first.place, 100, 8), nullptr) << "another peer";
  EXPECT_EQ(all.find(2, 100, 7), nullptr) << "no such place";
}

TEST(OpenQuestions, AreNotFoundByAnAnswerThatComesTooLate) {
  OpenQuestions<Asked> all;
  const std::uint64_t place = all.open(7, 100).place;
  all.close(*all.find(place, 100, 7));
  EXPECT_EQ(all.find(place, 100, 7), nullptr);
  const Asked& next = all.open(7, 101);
  ASSERT_EQ(next.place, place) << "the place is used again";
  EXPECT_EQ(all.find(place, 100, 7), nullptr);
  EXPECT_EQ(all.find(place, 101, 7), &next);
}

TEST(OpenQuestions, StayWhereTheyAreWhenOthersAreOpened) {
  OpenQuestions<Asked> all;
  Asked* const first = &all.open(7, 1);
  for (std::uint64_t mark = 2; mark < 100; mark++) all.open(7, mark);
  EXPECT_EQ(all.find(first->place, 1, 7), first);
}

TEST(OpenQuestions, OfADeadPeerMayBeClosedAndOthersOpenedOnTheWay) {
  OpenQuestions<Asked> all;
  for (std::uint64_t mark = 1; mark <= 4; mark++) all.open(mark % 2 == 0 ? 8 : 7, mark).what = 1;
  int ended = 0;
  all.for_each_of(7, [&](Asked& question) {
    ended++;
    all.close(question);
    all.open(8, 10 + question.mark);
    all.open(8, 20 + question.mark);
  });
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(all.find_if([](const Asked& each) { return each.peer == 7; }), nullptr);
  int others = 0;
  all.for_each_of(8, [&](const Asked&) { others++; });
  EXPECT_EQ(others, 6);
}
