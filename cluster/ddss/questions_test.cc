// Questions that processes ask each other, and which answers count.
#include "ddss/questions.h"

#include <future>

#include "ddss/ddss_fixture.h"

namespace iw::ddss {
namespace {

fabric::Deadline in_good_time() {
  return fabric::Clock::now() + std::chrono::milliseconds(patient_ms);
}

// A process's means to ask and to answer.
class Speaker {
 public:
  explicit Speaker(Questions::Serve serve) {
    std::string error;
    fabric::Status status;
    fabric_ = fabric::Fabric::open({}, &error);
    worker_ = fabric_->add_worker(&status);
    questions_ = std::make_unique<Questions>(*worker_, std::move(serve));
  }
  ~Speaker() { fabric::close_worker(&worker_); }
  Questions& questions() { return *questions_; }
  fabric::Worker& worker() { return *worker_; }
  fabric::PeerId meet(const fabric::Address& other) {
    fabric::PeerId peer = 0;
    EXPECT_EQ(worker_->connect(other, in_good_time(), &peer), fabric::Status::ok);
    return peer;
  }

 private:
  std::unique_ptr<fabric::Fabric> fabric_;
  std::unique_ptr<fabric::Worker> worker_;
  std::unique_ptr<Questions> questions_;
};

}  // namespace

// Says the number of the question that it is asked, and answers 1 when it is told to.
ROLE(asked) {
  std::promise<Caller> asking;
  Speaker self(
      [&](Question, fabric::Bytes, fabric::Bytes, Caller caller) { asking.set_value(caller); });
  parent.say_value(self.worker().address());
  const Caller caller = asking.get_future().get();
  parent.say_value(caller.call);
  parent.hear();
  self.questions().answer(caller, NameAnswer{1});
  parent.hear();
  return 0;
}

// Answers 2 to a question that another process was asked. Then it says so.
ROLE(intruder) {
  Speaker self([](Question, fabric::Bytes, fabric::Bytes, Caller) {});
  const fabric::PeerId asker = self.meet(parent.hear_value<fabric::Address>());
  self.questions().answer(Caller{asker, parent.hear_value<std::uint64_t>()}, NameAnswer{2});
  self.questions().tell(asker, Question::survey, KeyAsked{2});
  parent.hear();
  return 0;
}

class Answers : public ::testing::TestWithParam<const char*> {
 protected:
  Answers() { setenv("IW_FABRIC", GetParam(), 1); }
};
OVER_ALL_TRANSPORTS(Answers);

// [DDSS-2]
TEST_P(Answers, CountOnlyFromWhomWasAsked) {
  std::atomic<bool> has_intruded{false};
  Speaker self([&](Question, fabric::Bytes, fabric::Bytes, Caller) { has_intruded = true; });
  const Child asked("asked"), intruder("intruder");
  const fabric::PeerId peer = self.meet(asked.line().hear_value<fabric::Address>());
  Questions::Asking asking;
  self.questions().begin(&asking, peer, Question::survey, KeyAsked{0});
  const auto call = asked.line().hear_value<std::uint64_t>();
  intruder.line().say_value(self.worker().address());
  intruder.line().say_value(call);
  ASSERT_EQ(self.worker().wait([&] { return has_intruded.load(); }, in_good_time()),
            fabric::Status::ok);
  asked.line().say("answer");
  NameAnswer answer;
  EXPECT_EQ(self.questions().finish(&asking, &answer, in_good_time()), fabric::Status::ok);
  EXPECT_EQ(answer.key, 1u);
}

// [DDSS-2]
TEST_P(Answers, ThatComeTooLateDoNotCountForALaterQuestion) {
  std::vector<Caller> callers;
  Speaker self(
      [&](Question, fabric::Bytes, fabric::Bytes, Caller caller) { callers.push_back(caller); });
  const fabric::PeerId peer = self.meet(self.worker().address());
  Questions::Asking given_up, later;
  self.questions().begin(&given_up, peer, Question::survey, KeyAsked{0});
  self.questions().drop(&given_up);
  self.questions().begin(&later, peer, Question::survey, KeyAsked{0});
  ASSERT_EQ(self.worker().wait([&] { return callers.size() == 2; }, in_good_time()),
            fabric::Status::ok);
  for (std::uint64_t i = 0; i < 2; i++) self.questions().answer(callers[i], NameAnswer{i});
  NameAnswer answer;
  EXPECT_EQ(self.questions().finish(&later, &answer, in_good_time()), fabric::Status::ok);
  EXPECT_EQ(answer.key, 1u);
}

TEST_P(Answers, AreNotAskedForInAHandlerWhichCannotWait) {
  std::vector<Question> served;
  fabric::Status asked = fabric::Status::ok;
  Questions* questions = nullptr;
  fabric::PeerId peer = 0;
  Speaker self([&](Question question, fabric::Bytes, fabric::Bytes, Caller) {
    served.push_back(question);
    NameAnswer answer;
    asked = questions->ask(peer, Question::survey, KeyAsked{0}, &answer, in_good_time());
  });
  questions = &self.questions();
  peer = self.meet(self.worker().address());
  const auto tell_and_wait = [&](std::size_t count) {
    questions->tell(peer, Question::renounce, KeyAsked{0});
    ASSERT_EQ(self.worker().wait([&] { return served.size() >= count; }, in_good_time()),
              fabric::Status::ok);
  };
  tell_and_wait(1);
  EXPECT_EQ(asked, fabric::Status::in_handler);
  tell_and_wait(2);
  EXPECT_EQ(served, std::vector(2, Question::renounce)) << "a question of the handler's came first";
}

// [DDSS-1] [FAB-1]
TEST_P(Answers, AndQuestionsOfAnotherSizeOrKindAreDropped) {
  int served = 0;
  Speaker self([&](Question, fabric::Bytes, fabric::Bytes, Caller) { served++; });
  const fabric::PeerId peer = self.meet(self.worker().address());
  QuestionHeader header{1, Question::renounce, 0};
  const auto send = [&](fabric::MessageId id, fabric::Bytes bytes) {
    ASSERT_EQ(Questions::post(self.worker(), peer, id, bytes, {}), fabric::Status::ok);
  };
  for (const std::size_t bytes : {0u, 1u, 8u, 15u}) {
    send(question_id, bytes_of(header).first(bytes));
  }
  for (const unsigned question : {10u, 256u, ~0u}) {
    header.question = static_cast<Question>(question);
    send(question_id, bytes_of(header));
  }
  for (const std::size_t bytes : {0u, 7u}) send(answer_id, bytes_of(header).first(bytes));
  header.question = Question::renounce;
  send(question_id, bytes_of(header));
  ASSERT_EQ(self.worker().wait([&] { return served > 0; }, in_good_time()), fabric::Status::ok);
  EXPECT_EQ(served, 1) << "the last one alone";
}

}  // namespace iw::ddss
