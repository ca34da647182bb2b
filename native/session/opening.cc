#include "session/opening.h"

namespace iw::session {

// While it is shut, away or open: open on `live`, or to be opened there.
Opening::Step Opening::on(ConnectionNumber live) {
  if (stage_ == Stage::open && connection_ == live) return Step::ready;
  stage_ = Stage::opening;
  connection_ = 0;  // of an older connection, which is gone
  return Step::send;
}

Opening::Step Opening::open(ConnectionNumber live) {
  switch (stage_) {
    case Stage::shut:
    case Stage::open:
    case Stage::away:
      return on(live);
    case Stage::opening:
    case Stage::closing:
      return Step::wait;
    case Stage::lost:
      return must_tell() ? Step::wait : Step::lost;
  }
  return Step::lost;
}

Opening::Step Opening::use(ConnectionNumber live) {
  switch (stage_) {
    case Stage::open:
    case Stage::away:
      return on(live);
    case Stage::opening:
      return is_wanted() ? Step::wait : Step::not_open;
    case Stage::shut:
    case Stage::closing:
      return Step::not_open;
    case Stage::lost:
      return Step::lost;
  }
  return Step::not_open;
}

void Opening::opened(ConnectionNumber live) {
  if (is_lost()) return;
  stage_ = Stage::open;
  connection_ = live;
}

void Opening::refused() {
  if (!is_lost()) stage_ = is_wanted() ? Stage::away : Stage::shut;
}

void Opening::vanished() { stage_ = Stage::lost; }

Opening::Close Opening::close() {
  if (users_ == 0) return Close::not_open;
  if (users_ == 1) return Close::last;
  --users_;
  return Close::counted;
}

Opening::Close Opening::end() {
  if (users_ != 1) return close();  // others came, or went, meanwhile
  if (stage_ == Stage::opening) return Close::wait;
  users_ = 0;
  is_pointed_at_ = false;
  if (stage_ != Stage::lost) stage_ = Stage::closing;
  return Close::last;
}

bool Opening::end_unwanted() {
  if (stage_ != Stage::open || is_wanted()) return false;
  stage_ = Stage::closing;
  return true;
}

void Opening::told(ConnectionNumber on) {
  if (connection_ == on) connection_ = 0;
}

void Opening::ended() {
  if (stage_ == Stage::closing) stage_ = Stage::shut;
}

bool Opening::connection_lost(ConnectionNumber gone) {
  if (connection_ != gone) return false;
  connection_ = 0;
  if (stage_ != Stage::open) return false;
  stage_ = is_wanted() ? Stage::away : Stage::shut;
  return true;
}

bool Opening::opened_late(ConnectionNumber live) {
  switch (stage_) {
    case Stage::shut:
      stage_ = Stage::closing;
      connection_ = live;
      return true;
    case Stage::away:
    case Stage::closing:
      connection_ = live;  // the server has it open: whoever closes it says so
      return false;
    case Stage::opening:  // answered again, with the same number
    case Stage::open:
    case Stage::lost:
      return false;
  }
  return false;
}

}  // namespace iw::session
