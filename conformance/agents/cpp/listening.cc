#include "listening.h"

#include <chrono>

namespace agent {

int Listening::begin(IW_handle_t segment) {
  const int failure = IW_on_change(segment, &changed, this);
  return failure != 0 ? failure : IW_on_connection(segment, &connection_changed, this);
}

void Listening::changed(IW_handle_t, std::uint64_t version, void* listening) {
  auto& self = *static_cast<Listening*>(listening);
  const std::lock_guard lock(self.mutex_);
  self.newest_ = version;
  self.heard_.notify_all();
}

void Listening::connection_changed(IW_handle_t, IW_connection_t state, void* listening) {
  auto& self = *static_cast<Listening*>(listening);
  const std::lock_guard lock(self.mutex_);
  self.state_ = state;
  self.heard_.notify_all();
}

std::optional<std::uint64_t> Listening::version(std::uint64_t wanted, double seconds) {
  std::unique_lock lock(mutex_);
  heard_.wait_for(lock, std::chrono::duration<double>(seconds),
                  [&] { return state_ == IW_LOST || newest_ >= wanted; });
  if (state_ == IW_LOST || newest_ < wanted) return std::nullopt;
  return newest_;
}

bool Listening::connection(IW_connection_t wanted, double seconds) {
  std::unique_lock lock(mutex_);
  heard_.wait_for(lock, std::chrono::duration<double>(seconds),
                  [&] { return state_ == IW_LOST || state_ == wanted; });
  return state_ == wanted;
}

bool Listening::is_lost() {
  const std::lock_guard lock(mutex_);
  return state_ == IW_LOST;
}

}  // namespace agent
