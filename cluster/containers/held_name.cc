#include "containers/held_name.h"

#include <set>

#include "platform/mutex.h"

namespace iw::containers {
namespace {

// The names that this process's writers have, or have asked for.
struct Names {
  platform::Mutex mutex;
  std::set<std::string> all IW_GUARDED_BY(mutex);
};

// Never destroyed, because a thread may use it while another calls exit().
Names& names() {
  static auto* const of_process = new Names;
  return *of_process;
}

bool add(const std::string& name) {
  const platform::MutexLock held(names().mutex);
  return names().all.insert(name).second;
}

void remove(const std::string& name) {
  const platform::MutexLock held(names().mutex);
  names().all.erase(name);
}

}  // namespace

HeldName::~HeldName() {
  if (is_asked_for_) remove(name_);
}

int HeldName::take() {
  if (!is_asked_for_ && !add(name_)) return AM_ERR_IN_USE;
  const int result = AMNS_Register(name_.c_str(), endpoint_);
  is_asked_for_ = result == AM_OK || result == AM_ERR_NOT_SENT;
  if (!is_asked_for_) remove(name_);
  return result;
}

int HeldName::give_up() {
  if (!is_asked_for_) return AM_OK;
  const int result = AMNS_Unregister(name_.c_str());
  if (result == AM_ERR_NOT_SENT) return result;
  remove(name_);
  is_asked_for_ = false;
  return AM_OK;
}

}  // namespace iw::containers
