// Questions of other nodes that a directory or the founder's names answer alone [DDSS-1].
#pragma once

#include "ddss/calls.h"
#include "ddss/directory.h"
#include "ddss/names.h"

namespace iw::ddss {

// create, describe, reserve, release and store. Others are left alone.
void serve_directory(Directory& directory, Calls& calls, Question question, fabric::Bytes asked,
                     fabric::Bytes payload, Caller caller);
// claim, renounce and settle. Others are left alone.
void serve_names(Names& names, Calls& calls, Question question, fabric::Bytes asked, Caller caller);

}  // namespace iw::ddss
