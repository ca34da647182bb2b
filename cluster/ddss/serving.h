// Questions of other nodes that a directory or the founder's names answer alone [DDSS-1].
#pragma once

#include "ddss/directory.h"
#include "ddss/names.h"
#include "ddss/questions.h"

namespace iw::ddss {

// create, describe, reserve, release and store. Others are left alone.
void serve_directory(Directory& directory, Questions& questions, Question question,
                     fabric::Bytes asked, fabric::Bytes payload, Caller caller);
// claim, renounce and decide. Others are left alone.
void serve_names(Names& names, Questions& questions, Question question, fabric::Bytes asked,
                 Caller caller);

}  // namespace iw::ddss
