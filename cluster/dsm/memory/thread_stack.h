// Signal handlers that need more stack than an alternative signal stack has.
#pragma once

namespace iw::dsm {

// Calls the function on the stack of the code that the signal interrupted. A handler that runs on
// the thread's alternative stack thereby leaves it; signals that arrive meanwhile do not use it.
// Where the handler runs on the interrupted stack already, this is an ordinary call.
// `context`: the third argument of the signal's handler.
void call_on_interrupted_stack(void* context, void (*function)(void*), void* argument);

}  // namespace iw::dsm
