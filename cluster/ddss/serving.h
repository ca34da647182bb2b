// The answers to questions that need only a node's directory, or only the founder's names [DDSS-1].
#pragma once

#include "ddss/directory.h"
#include "ddss/names.h"
#include "ddss/questions.h"

namespace iw::ddss {

// Answers create, describe, reserve, release and store. Does nothing about other questions.
void serve_directory(Directory& directory, Questions& questions, Question question,
                     fabric::Bytes asked, fabric::Bytes payload, Caller caller);
// Answers claim, renounce and decide. Does nothing about other questions.
void serve_names(Names& names, Questions& questions, Question question, fabric::Bytes asked,
                 Caller caller);

}  // namespace iw::ddss
