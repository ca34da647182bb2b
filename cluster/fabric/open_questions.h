// Questions that have no answer yet, and which of them an answer belongs to. The fabric asks for
// access to memory by such a table (asking.h), and DDSS asks other nodes (ddss/questions.h).
// docs/decisions/2026-11-23-asking.md compares these engines with the others.
//
// Invariants: an answer finds its question only if it brings the question's place and mark, and
// comes from the peer that was asked. No two questions of a place have the same mark, so an answer
// that comes too late finds nothing. A question stays where it is in memory.
//
// The owner of a table guards it. The owner also chooses the marks, which are numbers that nobody
// can guess where an answer does not prove its sender.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <memory>
#include <vector>

#include "fabric/fabric.h"

namespace iw::fabric {

struct OpenQuestion {
  PeerId peer = 0;  // that was asked
  std::uint64_t place = 0;
  std::uint64_t mark = 0;
  bool is_open = false;
};

template <std::derived_from<OpenQuestion> Question>
class OpenQuestions {
 public:
  // REQUIRES: a mark that the place never had. The question's own fields are as the last question
  // of this place left them.
  Question& open(PeerId peer, std::uint64_t mark) {
    if (free_.empty()) add_place();
    Question& question = *free_.back();
    free_.pop_back();
    question.peer = peer;
    question.mark = mark;
    question.is_open = true;
    return question;
  }

  // nullptr: nobody waits for this answer.
  Question* find(std::uint64_t place, std::uint64_t mark, PeerId from) const {
    if (place >= places_.size()) return nullptr;
    Question& there = *places_[place];
    return there.is_open && there.mark == mark && there.peer == from ? &there : nullptr;
  }

  template <typename Condition>
  Question* find_if(Condition is_wanted) const {
    const auto found = std::ranges::find_if(
        places_, [&](const auto& each) { return each->is_open && is_wanted(*each); });
    return found == places_.end() ? nullptr : found->get();
  }

  // `call` may open and close questions.
  template <typename Call>
  void for_each_of(PeerId peer, Call call) {
    for (std::size_t place = 0; place < places_.size(); place++) {
      Question& question = *places_[place];
      if (question.is_open && question.peer == peer) call(question);
    }
  }

  // Takes no memory.
  void close(Question& question) {
    question.is_open = false;
    free_.push_back(&question);
  }

 private:
  void add_place() {
    places_.push_back(std::make_unique<Question>());
    places_.back()->place = places_.size() - 1;
    free_.reserve(places_.capacity());
    free_.push_back(places_.back().get());
  }

  std::vector<std::unique_ptr<Question>> places_;
  std::vector<Question*> free_;
};

}  // namespace iw::fabric
