#include "ddss/questions.h"

#include <cstring>
#include <utility>

#include "fabric/buffered.h"

namespace iw::ddss {
namespace {

using fabric::Status;

// A question's number is its mark and, in the lowest bits, its place. It is never 0, which asks for
// no answer, because marks begin with 1.
constexpr unsigned place_bits = 24;
constexpr std::uint64_t place_mask = (std::uint64_t{1} << place_bits) - 1;
constexpr std::uint64_t mark_mask = ~std::uint64_t{0} >> place_bits;

std::uint64_t call_of(const fabric::OpenQuestion& question) {
  return question.mark << place_bits | question.place;
}

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
  auto* kept = new fabric::Buffered(payload);
  kept->is_abandoned = true;  // nobody waits for it
  const Status status = worker.send(to, id, header, kept->buffer, kept);
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
  std::uint64_t call;
  {
    const platform::MutexLock held(mutex_);
    last_mark_ = std::max(std::uint64_t{1}, (last_mark_ + 1) & mark_mask);
    Waiting& waiting = waiting_.open(peer, last_mark_);
    waiting.asking = asking;
    asking->waiting = &waiting;
    call = call_of(waiting);
    if (waiting.place > place_mask) {
      asking->posted = Status::no_memory;
      return;
    }
  }
  asking->posted = send(peer, call, question, asked, payload);
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

void Questions::drop(Asking* asking) {
  const platform::MutexLock held(mutex_);
  Waiting* waiting = std::exchange(asking->waiting, nullptr);
  if (waiting != nullptr) waiting_.close(*waiting);
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
  const Waiting* found =
      waiting_.find(first.call & place_mask, first.call >> place_bits, message.from);
  if (found == nullptr || found->asking->is_answered) return;
  Asking& asking = *found->asking;
  std::memcpy(asking.answer.data(), answer.data(), answer.size());
  asking.size = answer.size();
  asking.is_answered = true;
}

}  // namespace iw::ddss
