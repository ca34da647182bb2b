// Questions to other nodes and their answers, over the fabric's messages [DDSS-1] [DDSS-2]. An
// answer may come later than its handler returns.
#pragma once

#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <map>

#include "ddss/ddss.gen.h"
#include "fabric/fabric.h"
#include "platform/mutex.h"

namespace iw::ddss {

// Where an answer goes.
struct Caller {
  fabric::PeerId peer = 0;
  std::uint64_t call = 0;
};

using fabric::bytes_of, fabric::read_whole;

class Questions {
 public:
  using Serve = std::function<void(Question, fabric::Bytes asked, fabric::Bytes payload, Caller)>;
  // Before the worker's address is known to anyone.
  Questions(fabric::Worker& worker, Serve serve);

  // A question that was put: to be finished or dropped before it is destroyed.
  class Asking {
    friend class Questions;
    std::array<std::byte, fabric::header_bytes_max> answer;
    std::size_t size = 0;
    std::atomic<bool> is_answered{false};
    fabric::PeerId peer = 0;
    std::uint64_t call = 0;
    fabric::Status posted = fabric::Status::failed;
  };
  template <typename Asked>
  void begin(Asking* asking, fabric::PeerId peer, Question question, const Asked& asked,
             fabric::Bytes payload = {}) {
    begin_bytes(asking, peer, question, bytes_of(asked), payload);
  }
  // Waits. ok: *answer is set.
  template <typename Answer>
  fabric::Status finish(Asking* asking, Answer* answer, fabric::Deadline deadline) {
    const auto status = await(asking, deadline);
    if (status != fabric::Status::ok) return status;
    return read_whole(fabric::Bytes(asking->answer).first(asking->size), answer)
               ? status
               : fabric::Status::failed;
  }
  void drop(Asking* asking);

  template <typename Asked, typename Answer>
  fabric::Status ask(fabric::PeerId peer, Question question, const Asked& asked, Answer* answer,
                     fabric::Deadline deadline, fabric::Bytes payload = {}) {
    Asking asking;
    begin(&asking, peer, question, asked, payload);
    return finish(&asking, answer, deadline);
  }
  // Those who wait give up, and later ones do not begin to.
  void end();
  // Does not wait; there is no answer.
  template <typename Asked>
  void tell(fabric::PeerId peer, Question question, const Asked& asked) {
    send(peer, 0, question, bytes_of(asked), {});
  }
  template <typename Answer>
  void answer(Caller caller, const Answer& answer) {
    answer_bytes(caller, bytes_of(answer));
  }
  // Sends, and keeps the payload until it is sent.
  static fabric::Status post(fabric::Worker& worker, fabric::PeerId to, fabric::MessageId id,
                             fabric::Bytes header, fabric::Bytes payload);

 private:
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
  std::uint64_t last_call_ IW_GUARDED_BY(mutex_) = 0;
  std::map<std::uint64_t, Asking*> waiting_ IW_GUARDED_BY(mutex_);
  std::atomic<bool> is_over_{false};
};

}  // namespace iw::ddss
