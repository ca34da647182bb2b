// The two tables of a program: its kinds of objects by name, and a class's functions by number.
#include "interweave/containers/functions.hpp"
#include "platform/mutex.h"

namespace iw::containers {
namespace {

struct Kinds {
  platform::Mutex mutex;
  std::map<std::string, std::pair<std::type_index, std::function<Ref()>>> by_name
      IW_GUARDED_BY(mutex);
  std::map<std::type_index, std::string> names IW_GUARDED_BY(mutex);
};

// Never destroyed, because handlers may run while the program exits.
Kinds& kinds() {
  static auto* const all = new Kinds;
  return *all;
}

std::uint32_t hash(const std::string& text) {
  std::uint32_t value = 2166136261u;  // FNV-1a
  for (const char each : text) value = (value ^ static_cast<unsigned char>(each)) * 16777619u;
  return value;
}

}  // namespace

bool register_object(const std::string& name, std::type_index type, std::function<Ref()> make) {
  const platform::MutexLock held(kinds().mutex);
  if (name.empty()) return false;
  const auto [at, is_new] = kinds().by_name.try_emplace(name, type, std::move(make));
  if (!is_new && at->second.first != type) return false;
  kinds().names.try_emplace(type, name);
  return true;
}

// Writes the name of the object's kind, then the object. For nullptr it writes an empty name.
bool marshal_ref(MarshalStream& stream, const Ref& object) {
  if (object == nullptr) return marshal(stream, std::string());
  std::string name;
  {
    const platform::MutexLock held(kinds().mutex);
    const Object& value = *object;
    const auto found = kinds().names.find(typeid(value));
    if (found == kinds().names.end()) return false;
    name = found->second;
  }
  return marshal(stream, name) && object->Marshal(&stream) == OBJ_RETURN_SUCCESS;
}

bool demarshal_ref(DeMarshalStream& stream, Ref* object) {
  std::string name;
  if (!demarshal(stream, &name)) return false;
  object->reset();
  if (name.empty()) return true;
  {
    const platform::MutexLock held(kinds().mutex);
    const auto found = kinds().by_name.find(name);
    if (found == kinds().by_name.end()) return false;
    *object = found->second.second();
  }
  return (*object)->DeMarshal(&stream) == OBJ_RETURN_SUCCESS;
}

void FunctionTable::add(int number, const void* identity, const std::string& signature,
                        Apply apply) {
  const std::lock_guard held(mutex_);
  if (number <= 0) throw std::invalid_argument("a shipped function's number is positive");
  const Number entry{number, hash(signature)};
  if (by_identity_.contains(identity) || by_number_.contains(number)) {
    throw std::invalid_argument("a shipped function has one number of its own");
  }
  by_number_.emplace(number, Entry{entry, std::move(apply)});
  by_identity_.emplace(identity, entry);
}

const FunctionTable::Number* FunctionTable::find(const void* identity) const {
  const std::lock_guard held(mutex_);
  const auto found = by_identity_.find(identity);
  return found == by_identity_.end() ? nullptr : &found->second;
}

bool FunctionTable::apply(int number, std::uint32_t signature, StandardContainer& to,
                          DeMarshalStream& arguments) const {
  const Entry* entry = nullptr;
  {
    const std::lock_guard held(mutex_);
    const auto found = by_number_.find(number);
    if (found == by_number_.end()) return false;
    entry = &found->second;
  }
  return entry->number.signature == signature && entry->apply(to, arguments);
}

}  // namespace iw::containers
