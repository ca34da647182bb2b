#include "am/name_server.h"

#include <cstring>
#include <system_error>

#include "am/bundle.h"

namespace iw::am {
namespace {

constexpr std::size_t registrations_max = 1 << 20;
// One that was left and does not answer may be stopped. Others are sought meanwhile.
constexpr std::chrono::seconds attempt{1};

bool is_same(const en_t& one, const en_t& other) {
  return std::memcmp(one.bytes, other.bytes, sizeof one.bytes) == 0;
}

fabric::Bytes bytes_of(const void* block, std::size_t nbytes) {
  return {static_cast<const std::byte*>(block), nbytes};
}

// [AM-NAME-2]
bool read(const void* block, std::size_t nbytes, Claim* claim) {
  return decode(bytes_of(block, nbytes), claim) && !claim->text.empty();
}

void answer(void* token, int result) { AM_ReplyI1(token, take_answer, nullptr, 0, result); }

// The servers of this process by their endpoints. Never destroyed, for the reason that
// Library::only() gives.
std::map<ep_t, NameServer*>& servers() {
  static auto* const all = new std::map<ep_t, NameServer*>;
  return *all;
}

// Takes the answers that come back because the client has died. Nothing is to be done.
void on_returned(int, op_t, const am_returned_t*) {}

}  // namespace

int NameServer::start(en_t* own_name) {
  int result = AM_AllocateBundle(AM_PAR, &bundle_);
  if (result == AM_OK) result = AM_AllocateEndpoint(bundle_, &endpoint_, own_name);
  if (result != AM_OK) return result;
  const fabric::Exclusion excluded(bundle_->worker());
  servers()[endpoint_] = this;
  bundle_->on_end = [this](const Connection& ended, bool was_left) {
    const en_t owner = bundle_->name_of_other(ended);
    if (!was_left) return forget(owner);
    const platform::MutexLock held(mutex_);
    left_.push_back(owner);
    changed_.notify_all();
  };
  try {
    seeker_ = std::thread([this] { seek_those_left(); });
  } catch (const std::system_error&) {
    return AM_ERR_RESOURCE;
  }
  AM_SetHandler(endpoint_, 0, reinterpret_cast<am_handler_fn>(&on_returned));
  AM_SetHandler(endpoint_, register_name, reinterpret_cast<am_handler_fn>(&on_register));
  AM_SetHandler(endpoint_, look_up_name, reinterpret_cast<am_handler_fn>(&on_look_up));
  AM_SetHandler(endpoint_, unregister_name, reinterpret_cast<am_handler_fn>(&on_unregister));
  AM_SetHandler(endpoint_, undo_registration, reinterpret_cast<am_handler_fn>(&on_undo));
  return AM_SetTag(endpoint_, name_service_tag);
}

// The bundle ends first, because the end of each client's connection calls forget().
NameServer::~NameServer() {
  if (bundle_ == nullptr) return;
  {
    const platform::MutexLock held(mutex_);
    is_stopping_ = true;
    changed_.notify_all();
  }
  if (seeker_.joinable()) seeker_.join();
  AM_FreeBundle(bundle_);
  servers().erase(endpoint_);
}

NameServer& NameServer::of_token(void* token, en_t* asking) {
  ep_t endpoint = nullptr;
  AM_GetDestEndpoint(token, &endpoint);
  AM_GetSourceEndpoint(token, asking);
  return *servers().at(endpoint);
}

// Registers a string. The owner of a registration may repeat it [AM-NAME-1].
int NameServer::enter(const Claim& claim, const en_t& asking) {
  const auto found = registered_.find(claim.text);
  if (found != registered_.end()) {
    const Registration& there = found->second;
    const bool is_the_same = is_same(there.owner, asking) && there.name == claim.name;
    return is_the_same ? AM_OK : AM_ERR_IN_USE;
  }
  if (registered_.size() >= registrations_max) return AM_ERR_RESOURCE;
  registered_[std::string(claim.text)] = {claim.name, claim.number, asking};
  return AM_OK;
}

void NameServer::on_register(void* token, void* block, std::size_t nbytes) {
  en_t asking;
  NameServer& self = of_token(token, &asking);
  Claim claim;
  if (!read(block, nbytes, &claim)) return answer(token, AM_ERR_BAD_ARG);
  answer(token, self.enter(claim, asking));
}

// Takes back a registration whose client gave up before it had the answer [AM-NAME-4].
void NameServer::on_undo(void* token, void* block, std::size_t nbytes) {
  en_t asking;
  NameServer& self = of_token(token, &asking);
  Claim claim;
  if (!read(block, nbytes, &claim)) return answer(token, AM_ERR_BAD_ARG);
  const auto found = self.registered_.find(claim.text);
  const bool is_it = found != self.registered_.end() && is_same(found->second.owner, asking) &&
                     found->second.number == claim.number;
  if (is_it) self.registered_.erase(found);
  answer(token, AM_OK);
}

void NameServer::on_look_up(void* token, void* block, std::size_t nbytes) {
  en_t asking;
  NameServer& self = of_token(token, &asking);
  const auto found = self.registered_.find(fabric::text_of(bytes_of(block, nbytes)));
  if (found == self.registered_.end()) {
    answer(token, AM_ERR_RESOURCE);
  } else {
    AM_ReplyI1(token, take_answer, &found->second.name, sizeof(Name), AM_OK);
  }
}

void NameServer::on_unregister(void* token, void* block, std::size_t nbytes) {
  en_t asking;
  NameServer& self = of_token(token, &asking);
  const auto found = self.registered_.find(fabric::text_of(bytes_of(block, nbytes)));
  const bool is_own = found != self.registered_.end() && is_same(found->second.owner, asking);
  if (is_own) self.registered_.erase(found);
  answer(token, is_own ? AM_OK : AM_ERR_RESOURCE);
}

void NameServer::seek_those_left() {
  const platform::MutexLock held(mutex_);
  for (;;) {
    while (left_.empty() && !is_stopping_) changed_.wait(mutex_);
    if (is_stopping_) return;
    const en_t owner = left_.front();
    left_.pop_front();
    bool is_over = false;
    {
      const platform::MutexUnlock seeking(mutex_);
      is_over = is_settled(owner);
    }
    if (!is_over) left_.push_back(owner);
  }
}

// Connects, or ends the registrations of one that is gone. False: it does not answer.
bool NameServer::is_settled(const en_t& owner) {
  const fabric::Deadline deadline = fabric::Clock::now() + attempt;
  Connection* connection = nullptr;
  const int result = bundle_->connect(endpoint_, owner, deadline, &connection);
  if (result != AM_OK && fabric::Clock::now() >= deadline) return false;
  const fabric::Exclusion excluded(bundle_->worker());
  if (result == AM_OK) {
    Bundle::unpin(*connection);
  } else {
    forget(owner);
  }
  return true;
}

void NameServer::forget(const en_t& owner) {
  std::erase_if(registered_, [&](const auto& each) { return is_same(each.second.owner, owner); });
}

}  // namespace iw::am
