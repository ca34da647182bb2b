// Windows has the wake-up alone.
#include "platform/event_descriptor.h"

namespace iw::platform {

Status EventDescriptor::create(EventDescriptor& out) { return WakeUp::create(out.wake_up_); }

bool EventDescriptor::watch(int) const noexcept { return false; }

void EventDescriptor::take() const noexcept { wake_up_.drain(); }

}  // namespace iw::platform
