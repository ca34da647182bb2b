#include "ddss/serving.h"

#include "ddss/name_text.h"

namespace iw::ddss {

void serve_directory(Directory& directory, Questions& questions, Question question,
                     fabric::Bytes asked, fabric::Bytes payload, Caller caller) {
  CreateAsked create;
  DescribeAsked describe;
  ReserveAsked reserve;
  KeyAsked key;
  StoreAsked store;
  DescriptorAnswer answer;
  if (question == Question::create && read_whole(asked, &create)) {
    answer.error =
        directory.create(static_cast<NodeNumber>(create.home), create.wanted, &answer.descriptor);
    questions.answer(caller, answer);
  } else if (question == Question::describe && read_whole(asked, &describe)) {
    answer.error = directory.describe(describe.made);
    questions.answer(caller, answer);
  } else if (question == Question::reserve && read_whole(asked, &reserve)) {
    ReserveAnswer reserved;
    reserved.error = directory.reserve(reserve.key, reserve.bytes, &reserved.offset);
    questions.answer(caller, reserved);
  } else if (question == Question::release && read_whole(asked, &key)) {
    answer.error = directory.release(key.key, &answer.descriptor);
    questions.answer(caller, answer);
  } else if (question == Question::store && read_whole(asked, &store)) {
    questions.answer(caller, StoreAnswer{directory.store(store.what, store.offset, payload)});
  }
}

void serve_names(Names& names, Questions& questions, Question question, fabric::Bytes asked,
                 Caller caller) {
  ClaimAsked claim;
  NameAsked name;
  if (question == Question::claim && read_whole(asked, &claim)) {
    names.claim(name_of(claim.text), claim.claim, claim.found, caller);
  } else if (question == Question::renounce && read_whole(asked, &claim)) {
    names.renounce(name_of(claim.text), claim.claim, caller.peer);
  } else if (question == Question::decide && read_whole(asked, &name)) {
    const std::string text = name_of(name.text);
    if (text.empty()) {
      names.drop(name.key);
    } else {
      names.decide(text, name.key);
    }
    questions.answer(caller, NameAnswer{name.key});
  }
}

}  // namespace iw::ddss
