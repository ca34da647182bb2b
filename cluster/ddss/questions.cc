#include "ddss/questions.h"

namespace iw::ddss {
namespace {

using fabric::Status;

// `first` and then `rest`, as a message's header.
struct Header {
  std::array<std::byte, fabric::header_bytes_max> data;
  std::size_t size = 0;
  bool add(fabric::Bytes bytes) {
    if (bytes.size() > data.size() - size) return false;
    if (!bytes.empty()) std::memcpy(data.data() + size, bytes.data(), bytes.size());
    size += bytes.size();
    return true;
  }
  fabric::Bytes bytes() const { return fabric::Bytes(data).first(size); }
};

}  // namespace

Questions::Questions(fabric::Worker& worker, Serve serve)
    : worker_(worker), serve_(std::move(serve)) {
  worker.set_handler(
      question_id,
      [](void* self, const fabric::Message& message) {
        static_cast<Questions*>(self)->take_question(message);
      },
      this);
  worker.set_handler(
      answer_id,
      [](void* self, const fabric::Message& message) {
        static_cast<Questions*>(self)->take_answer(message);
      },
      this);
}

Status Questions::post(fabric::Worker& worker, fabric::PeerId to, fabric::MessageId id,
                       fabric::Bytes header, fabric::Bytes payload) {
  if (payload.empty()) return worker.send(to, id, header, payload, nullptr);
  struct Kept : fabric::Completion {
    std::vector<std::byte> payload;
  };
  auto* kept = new Kept;
  kept->payload.assign(payload.begin(), payload.end());
  kept->done = [](fabric::Completion& self, Status) { delete static_cast<Kept*>(&self); };
  const Status status = worker.send(to, id, header, kept->payload, kept);
  if (status != Status::pending) delete kept;
  return status;
}

Status Questions::send(fabric::PeerId peer, std::uint64_t call, Question question,
                       fabric::Bytes asked, fabric::Bytes payload) {
  const QuestionHeader first{call, question, 0};
  Header header;
  if (!header.add(bytes_of(first)) || !header.add(asked)) return Status::bad_argument;
  return post(worker_, peer, question_id, header.bytes(), payload);
}

void Questions::begin_bytes(Asking* asking, fabric::PeerId peer, Question question,
                            fabric::Bytes asked, fabric::Bytes payload) {
  asking->peer = peer;
  {
    const platform::MutexLock held(mutex_);
    waiting_[asking->call = ++last_call_] = asking;
  }
  asking->posted = send(peer, asking->call, question, asked, payload);
}

Status Questions::await(Asking* asking, fabric::Deadline deadline) {
  Status status = worker_.in_handler() ? Status::in_handler : asking->posted;
  if (status == Status::ok || status == Status::pending) {
    const auto is_over = [&] {
      return asking->is_answered || is_over_ || !worker_.is_alive(asking->peer);
    };
    status = worker_.wait(is_over, deadline);
  }
  drop(asking);
  if (status != Status::ok || asking->is_answered) return status;
  return is_over_ ? Status::failed : Status::peer_dead;
}

// From here on no answer is written.
void Questions::drop(Asking* asking) {
  const platform::MutexLock held(mutex_);
  waiting_.erase(asking->call);
}

void Questions::end() {
  is_over_ = true;
  worker_.wake();
}

void Questions::answer_bytes(Caller caller, fabric::Bytes answer) {
  Header header;
  if (header.add(bytes_of(AnswerHeader{caller.call})) && header.add(answer)) {
    post(worker_, caller.peer, answer_id, header.bytes(), {});
  }
}

void Questions::take_question(const fabric::Message& message) {
  QuestionHeader first;
  fabric::Bytes asked;
  if (!fabric::read_first(message.header, &first, &asked)) return;
  serve_(first.question, asked, message.payload, Caller{message.from, first.call});
}

void Questions::take_answer(const fabric::Message& message) {
  AnswerHeader first;
  fabric::Bytes answer;
  if (!fabric::read_first(message.header, &first, &answer)) return;
  const platform::MutexLock held(mutex_);
  const auto found = waiting_.find(first.call);
  if (found == waiting_.end() || found->second->peer != message.from) return;
  std::memcpy(found->second->answer.data(), answer.data(), answer.size());
  found->second->size = answer.size();
  found->second->is_answered = true;
}

}  // namespace iw::ddss
