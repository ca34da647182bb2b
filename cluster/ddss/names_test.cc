// The creator of a named segment, when claimers give up and nodes cannot be reached.
#include "ddss/names.h"

#include <set>
#include <utility>

#include "ddss/ddss_fixture.h"

namespace iw::ddss {
namespace {

constexpr fabric::PeerId ann = 1, bob = 2, eve = 3;

// The founder's names. Each claim, and each question, has the number of its claimer.
class Founder {
 public:
  void claim(fabric::PeerId who, const Finding& found = {}) {
    names.claim("name", who, found, Caller{who, who});
  }
  // The answers since the last call, in order.
  std::vector<std::pair<fabric::PeerId, Key>> answers() { return std::exchange(answers_, {}); }

  std::set<NodeNumber> gone;
  Names names{[this](Caller caller, Key key) { answers_.emplace_back(caller.peer, key); },
              [this](NodeNumber number) { return !gone.contains(number); }};

 private:
  std::vector<std::pair<fabric::PeerId, Key>> answers_;
};

using Answers = std::vector<std::pair<fabric::PeerId, Key>>;
constexpr Key first = Key{5} << 48 | 1, second = Key{6} << 48 | 1;
constexpr Finding unreachable{first, Loss::unreachable, {5, 7, 5, 5}};
constexpr Finding released{first, Loss::released, {}};

}  // namespace

// [DDSS-NAME-2]
TEST(Names, ACreatorThatGivesUpMakesRoomForTheNext) {
  Founder founder;
  founder.claim(ann);
  founder.claim(bob);
  EXPECT_EQ(founder.answers(), (Answers{{ann, 0}}));
  founder.names.renounce("name", ann, ann);
  EXPECT_EQ(founder.answers(), (Answers{{bob, 0}}));
  founder.names.decide("name", first);
  founder.claim(eve);
  EXPECT_EQ(founder.answers(), (Answers{{eve, first}}));
}

// [DDSS-NAME-4]
TEST(Names, AClaimerThatGaveUpIsNotTheNextCreator) {
  Founder founder;
  founder.claim(ann);
  founder.claim(bob);
  founder.names.renounce("name", bob, bob);
  founder.names.decide("name", 0);
  founder.claim(eve);
  EXPECT_EQ(founder.answers(), (Answers{{ann, 0}, {eve, 0}}));
  founder.names.renounce("name", bob, bob);
  founder.names.renounce("another name", bob, bob);
  EXPECT_EQ(founder.answers(), Answers{});
}

// [DDSS-NAME-3]
TEST(Names, NobodyCreatesASecondSegmentForNotReachingTheFirst) {
  Founder founder;
  founder.claim(ann);
  founder.names.decide("name", first);
  founder.claim(bob, unreachable);
  EXPECT_EQ(founder.answers(), (Answers{{ann, 0}}));
  founder.claim(eve);
  EXPECT_EQ(founder.answers(), (Answers{{eve, first}}));
  founder.gone = {7};  // the node with the data
  founder.names.note_death(77);
  EXPECT_EQ(founder.answers(), (Answers{{bob, 0}}));
  founder.claim(eve, unreachable);
  founder.names.decide("name", second);
  EXPECT_EQ(founder.answers(), (Answers{{eve, second}}));
}

TEST(Names, WhoDoubtsHearsOfTheReleaseAndOfTheNextSegment) {
  Founder founder;
  founder.claim(ann);
  founder.names.decide("name", first);
  founder.claim(bob, unreachable);
  founder.claim(eve, unreachable);
  founder.claim(ann, released);
  EXPECT_EQ(founder.answers(), (Answers{{ann, 0}, {ann, 0}}));
  founder.names.decide("name", second);
  EXPECT_EQ(founder.answers(), (Answers{{bob, second}, {eve, second}}));
  const Finding unreachable_too{second, Loss::unreachable, {6, 6, 6, 6}};
  founder.claim(bob, unreachable_too);
  founder.claim(eve, unreachable_too);
  founder.names.note_death(bob);
  founder.names.drop(second);
  EXPECT_EQ(founder.answers(), (Answers{{eve, 0}}));
}

ROLE(founder) {
  ddss_options_t options{};
  options.pool_bytes = small_pool;
  options.timeout_ms = patient_ms;
  if (ddss_init(&options) != 0) return 1;
  parent.say(std::string(ddss_address()));
  parent.hear();
  return ddss_finish() == 0 ? 0 : 2;
}

// Says whether it created the named segment.
ROLE(claimer) {
  if (!join(parent)) return 1;
  parent.say_value(claim("name"));
  parent.hear();
  return 0;
}

class Claims : public ::testing::TestWithParam<const char*> {};
OVER_ALL_TRANSPORTS(Claims);

// The founder makes the claimer the creator when the claimer has stopped waiting.
// [DDSS-NAME-4]
TEST_P(Claims, ThatTimeOutHoldNoName) {
  setenv("IW_FABRIC", GetParam(), 1);
  Child founder("founder");
  const std::string address = founder.line().hear_text();
  ddss_options_t options{};
  options.join = address.c_str();
  options.pool_bytes = small_pool;
  options.timeout_ms = impatient_ms;
  ASSERT_EQ(answered([&] { return ddss_init(&options); }), 0);
  ddss_allocation_t how{};
  how.name = "name";
  how.placement = DDSS_LOCAL;
  founder.stop();
  EXPECT_EQ(ddss_allocate(8, DDSS_NULL, &how), 0u);
  EXPECT_EQ(ddss_errno(), DDSS_ETIMEDOUT);
  founder.go_on();
  const Child claimer("claimer");
  claimer.line().say(address);
  EXPECT_GT(claimer.line().hear_value<int>(), 0);
  EXPECT_EQ(claimer.line().hear_value<int>(), 1);
  EXPECT_EQ(ddss_finish(), 0);
}

}  // namespace iw::ddss
