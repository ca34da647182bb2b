// Questions to other nodes and their answers, over the fabric's messages [DDSS-1] [DDSS-2]. An
// answer may be sent after the handler of its question has returned.
//
// Invariants: no thread waits in a handler, longer than its deadline, or for a node that is dead.
// From drop() on no answer is written to an Asking. A message that the answering node sent before
// its answer is handled before the asker sees the answer.
#pragma once

#include <array>
#include <atomic>
#include <functional>

#include "ddss/ddss.gen.h"
#include "fabric/fabric.h"
#include "fabric/open_questions.h"
#include "platform/mutex.h"

namespace iw::ddss {

// Where an answer goes.
struct Caller {
  fabric::PeerId peer = 0;
  std::uint64_t call = 0;
};

using fabric::bytes_of, fabric::read_whole;

class Questions {
  struct Waiting;

 public:
  using Serve = std::function<void(Question, fabric::Bytes asked, fabric::Bytes payload, Caller)>;
  // Before the worker's address is known to anyone.
  Questions(fabric::Worker& worker, Serve serve);

  // A question that was put. It stays where it is until it is finished or dropped.
  class Asking {
    friend class Questions;
    std::array<std::byte, fabric::header_bytes_max> answer;
    std::size_t size = 0;
    std::atomic<bool> is_answered{false};
    fabric::PeerId peer = 0;
    Waiting* waiting = nullptr;
    fabric::Status posted = fabric::Status::failed;
  };
  // Does not wait, so a handler may call it.
  template <typename Asked>
  void begin(Asking* asking, fabric::PeerId peer, Question question, const Asked& asked,
             fabric::Bytes payload = {}) {
    begin_bytes(asking, peer, question, bytes_of(asked), payload);
  }
  // Waits, and drops the question. ok: *answer is set.
  template <typename Answer>
  fabric::Status finish(Asking* asking, Answer* answer, fabric::Deadline deadline) {
    const auto status = await(asking, deadline);
    if (status != fabric::Status::ok) return status;
    return read_whole(fabric::Bytes(asking->answer).first(asking->size), answer)
               ? status
               : fabric::Status::failed;
  }
  // The answer is not wanted any more.
  void drop(Asking* asking);

  // Both. In a handler nothing is asked, because nothing can be waited for there.
  template <typename Asked, typename Answer>
  fabric::Status ask(fabric::PeerId peer, Question question, const Asked& asked, Answer* answer,
                     fabric::Deadline deadline, fabric::Bytes payload = {}) {
    if (worker_.in_handler()) return fabric::Status::in_handler;
    Asking asking;
    begin(&asking, peer, question, asked, payload);
    return finish(&asking, answer, deadline);
  }
  // Threads that wait for answers give up, and later ones do not begin to wait.
  void end();
  // Does not wait, because nobody answers.
  template <typename Asked>
  void tell(fabric::PeerId peer, Question question, const Asked& asked) {
    send(peer, 0, question, bytes_of(asked), {});
  }
  template <typename Answer>
  void answer(Caller caller, const Answer& answer) {
    answer_bytes(caller, bytes_of(answer));
  }
  // Sends a message, and keeps its payload until the transport has it.
  static fabric::Status post(fabric::Worker& worker, fabric::PeerId to, fabric::MessageId id,
                             fabric::Bytes header, fabric::Bytes payload);

 private:
  struct Waiting : fabric::OpenQuestion {
    Asking* asking = nullptr;
  };
  void begin_bytes(Asking* asking, fabric::PeerId peer, Question question, fabric::Bytes asked,
                   fabric::Bytes payload);
  fabric::Status await(Asking* asking, fabric::Deadline deadline);
  fabric::Status send(fabric::PeerId peer, std::uint64_t call, Question question,
                      fabric::Bytes asked, fabric::Bytes payload);
  void answer_bytes(Caller caller, fabric::Bytes answer);
  void take_question(const fabric::Message& message);
  void take_answer(const fabric::Message& message);

  fabric::Worker& worker_;
  Serve serve_;
  platform::Mutex mutex_;
  std::uint64_t last_mark_ IW_GUARDED_BY(mutex_) = 0;
  fabric::OpenQuestions<Waiting> waiting_ IW_GUARDED_BY(mutex_);
  std::atomic<bool> is_over_{false};
};

}  // namespace iw::ddss
