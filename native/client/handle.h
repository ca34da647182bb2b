// What an IW_handle_t points at: the name of a URL in this process, and its segment while that is
// kept. A handle lives as long as the process, so that an old one is an error and not a crash
// [OPEN-4]; it is all that is left of a URL that was closed, and therefore small.
//
// The segment ends only while no call on the handle is under way: calls are counted, and the count
// has a bit that keeps newcomers from the segment. Any thread may call; lead_to() and let_go() are
// for Runtime, which holds its mutex then.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "types/result.h"

namespace iw::client {
class CallOn;
class Runtime;
class Segment;
}  // namespace iw::client

struct IW_segment {
 public:
  IW_segment(iw::client::Runtime& runtime, std::string name);
  IW_segment(const IW_segment&) = delete;
  IW_segment& operator=(const IW_segment&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] iw::client::Runtime& runtime() const { return runtime_; }
  // Only inside of a call that check_usable() has let in.
  iw::client::Segment* operator->() const { return segment_; }

  void lead_to(iw::client::Segment& segment);
  [[nodiscard]] bool has_segment() const;
  // False: a call is under way. Afterwards no call reaches the segment any more.
  [[nodiscard]] bool let_go();

 private:
  friend class iw::client::CallOn;
  static constexpr std::uint32_t closed = std::uint32_t{1} << 31;

  iw::client::Runtime& runtime_;
  const std::string name_;
  const unsigned fork_count_;
  std::atomic<std::uint32_t> calls_{closed};  // under way, and whether there is no segment
  iw::client::Segment* segment_ = nullptr;    // changed only while no call may look at it
};

namespace iw::client {

// A call of the program on a handle, from its beginning to its end.
class CallOn {
 public:
  explicit CallOn(IW_segment& handle);
  ~CallOn();
  CallOn(const CallOn&) = delete;
  CallOn& operator=(const CallOn&) = delete;

  // NOT_OPEN, FORKED or nothing.
  [[nodiscard]] types::Result check_usable() const;

 private:
  IW_segment& handle_;
  const bool has_segment_;
};

}  // namespace iw::client
