// Whether this process's worker hears over shared memory [UCX-12].
//
// A second worker of the transport's speaks to the first one, the listener, as another process
// would. It has a context of its own that knows shared memory alone, because the listener may hear
// by other ways. It comes behind all that others have begun to write into the listener's queue.
//
//   the listener                                        the verdict
//   hears what was said                                 hears
//   is polled and has heard nothing of it for 500 ms    deaf
//   is polled and has heard nothing of it for 5 s,      deaf
//   though it handles other things while its queue
//   has no room for what is to be said
//
// Time counts only while the listener is polled. A process that lives is kept from running for less
// than that between its two steps of writing into a queue. If it is stopped there, the listener
// counts as deaf, which costs its peers and harms nobody.
//
// The worker's lock guards a hearing: its owner declares it so.
#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>
#include <memory>

#include "fabric/fabric.h"

namespace iw::fabric {

class Hearing {
 public:
  enum class Verdict : std::uint8_t { open, hears, deaf };

  // Speaks to the worker of that transport address. nullptr: the system lacks something for it, and
  // nothing is known.
  static std::unique_ptr<Hearing> begin(Bytes listener);
  ~Hearing();
  Hearing(const Hearing&) = delete;
  Hearing& operator=(const Hearing&) = delete;

  // The listener got this as a message of the number hearing_id.
  void hear(Bytes said);
  // To be called after each poll of the listener, which handled so much.
  Verdict look(unsigned handled, Deadline now);

 private:
  Hearing() = default;
  bool open();
  bool speak(Bytes listener);
  bool is_said() const;
  bool close_endpoint();

  ucp_context_h context_ = nullptr;
  ucp_worker_h speaker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  ucs_status_ptr_t sending_ = nullptr;  // nullptr: said at once
  std::unique_ptr<std::uint64_t> number_;
  bool is_heard_ = false;
  Deadline looked_{};
  Clock::duration unheard_{0}, open_{0};
};

}  // namespace iw::fabric
