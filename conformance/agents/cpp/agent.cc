#include "agent.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <interweave/interface.hpp>
#include <iterator>
#include <utility>

#ifndef AGENT_MACHINE
#define AGENT_MACHINE "unknown"
#endif

namespace agent {

namespace {

std::string name_of(int code) {
  const auto* const found = std::find_if(std::begin(iw::named_errors), std::end(iw::named_errors),
                                         [&](const auto& error) { return error.code == code; });
  return found == std::end(iw::named_errors) ? "INTERNAL" : found->name;
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

std::string failure() { return "error " + name_of(IW_errno()) + " " + one_line(IW_strerror()); }

std::string result(int code) { return code == 0 ? "ok" : failure(); }

std::string okay(const std::string& value) { return "ok " + value; }

// The segment has the block, but the version of the copy does not: there is only space for it.
struct NotInCopy {};

IW_block_t described(IW_handle_t segment, const void* place) {
  IW_block_t block{};
  block.size = sizeof block;
  if (IW_describe_block(segment, place, &block) != 0) throw LibraryFailed{};
  return block;
}

Values values_of(const IW_block_t& block) {
  return {block.type, block.count, static_cast<char*>(block.address)};
}

IW_coherence_t model_named(const std::string& name) {
  static const std::map<std::string, IW_coherence_t> names = {
      {"full", IW_FULL},   {"strict", IW_STRICT},     {"null", IW_NULL},
      {"delta", IW_DELTA}, {"temporal", IW_TEMPORAL}, {"diff", IW_DIFF}};
  const auto found = names.find(name);
  if (found == names.end()) throw BadCommand("not a coherence model: " + name);
  return found->second;
}

}  // namespace

std::string Words::next() {
  if (rest_.empty()) throw BadCommand("the command is too short");
  const std::size_t end = std::min(rest_.find(' '), rest_.size());
  std::string word(rest_.substr(0, end));
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  return word;
}

Agent::Agent()
    : commands_{{"hello", &Agent::hello},
                {"types", &Agent::types},
                {"open", &Agent::open},
                {"close", &Agent::close},
                {"reset", &Agent::reset},
                {"rl", &Agent::rl},
                {"rl_release", &Agent::rl_release},
                {"wl", &Agent::wl},
                {"wl_release", &Agent::wl_release},
                {"wl_abort", &Agent::wl_abort},
                {"coherence", &Agent::coherence},
                {"version", &Agent::version},
                {"staleness", &Agent::staleness},
                {"refresh", &Agent::refresh},
                {"messages", &Agent::messages},
                {"listen", &Agent::listen},
                {"told", &Agent::told},
                {"make", &Agent::make},
                {"free", &Agent::free},
                {"get", &Agent::get},
                {"put", &Agent::put},
                {"mip", &Agent::mip},
                {"resolve", &Agent::resolve},
                {"dump", &Agent::dump}} {}

std::string Agent::obey(std::string_view line) {
  try {
    Words words(line);
    const std::string name = words.next();
    const auto found = commands_.find(name);
    if (found == commands_.end()) return "error UNIMPLEMENTED no such command: " + name;
    return (this->*found->second)(words);
  } catch (const LibraryFailed&) {
    return failure();
  } catch (const NotInCopy&) {
    return "error NO_BLOCK the copy's version has no such block";
  } catch (const std::exception& wrong) {
    return "error BAD_ARGUMENT " + one_line(wrong.what());
  }
}

std::string Agent::hello(Words&) {
  const bool is_big = std::endian::native == std::endian::big;
  return okay(R"({"client":"c++","machine":")" AGENT_MACHINE R"(","byte_order":")" +
              std::string(is_big ? "big" : "little") + R"(","pointer_bits":)" +
              std::to_string(8 * sizeof(void*)) +
              R"(,"abilities":["declare","write","owned","pointers","coherence","messages"]})");
}

std::string Agent::types(Words& words) {
  types_.declare(parse_json(words.rest()));
  return "ok";
}

Agent::Segment& Agent::segment(Words& words) {
  const std::string name = words.next();
  const auto found = segments_.find(name);
  if (found == segments_.end()) throw BadCommand("no segment was opened as " + name);
  return found->second;
}

// open S URL [create] [read_only] [memory|written] [timeout=SECONDS] [quota=BYTES]
std::string Agent::open(Words& words) {
  const std::string name = words.next();
  Segment opened;
  opened.url = words.next();
  IW_open_options options{};
  options.size = sizeof options;
  while (!words.at_end()) {
    const std::string word = words.next();
    if (word == "create")
      options.flags |= IW_CREATE;
    else if (word == "read_only")
      options.flags |= IW_READ_ONLY;
    else if (word == "memory")
      options.durability = IW_MEMORY;
    else if (word == "written")
      options.durability = IW_WRITTEN;
    else if (word.rfind("timeout=", 0) == 0)
      options.timeout = std::stod(word.substr(8));
    else if (word.rfind("quota=", 0) == 0)
      options.quota = std::stoull(word.substr(6));
    else
      throw BadCommand("open knows no " + word);
  }
  opened.handle = IW_open_segment_with(opened.url.c_str(), &options);
  if (opened.handle == nullptr) return failure();
  segments_[name] = opened;
  return "ok";
}

std::string Agent::close(Words& words) {
  const std::string name(words.rest());
  const IW_handle_t handle = segment(words).handle;
  segments_.erase(name);
  return result(IW_close_segment(handle));
}

// Closing gives the locks back, too.
std::string Agent::reset(Words&) {
  for (const auto& [name, opened] : segments_) (void)IW_close_segment(opened.handle);
  segments_.clear();
  return "ok";
}

// rl S [SECONDS [fresh]]
std::string Agent::rl(Words& words) {
  const IW_handle_t handle = segment(words).handle;
  if (words.at_end()) return result(IW_rl_acquire(handle));
  const double seconds = std::stod(words.next());
  const bool is_fresh = !words.at_end() && words.next() == "fresh";
  return result(IW_rl_acquire_for(handle, seconds, is_fresh ? IW_FRESH : 0));
}

std::string Agent::rl_release(Words& words) { return result(IW_rl_release(segment(words).handle)); }

std::string Agent::wl(Words& words) {
  const IW_handle_t handle = segment(words).handle;
  if (words.at_end()) return result(IW_wl_acquire(handle));
  return result(IW_wl_acquire_for(handle, std::stod(words.next())));
}

std::string Agent::wl_release(Words& words) { return result(IW_wl_release(segment(words).handle)); }

std::string Agent::wl_abort(Words& words) { return result(IW_wl_abort(segment(words).handle)); }

std::string Agent::coherence(Words& words) {
  const IW_handle_t handle = segment(words).handle;
  const IW_coherence_t model = model_named(words.next());
  return result(IW_set_coherence(handle, model, words.at_end() ? 0 : std::stod(words.next())));
}

std::string Agent::version(Words& words) {
  return okay(std::to_string(IW_version(segment(words).handle)));
}

std::string Agent::staleness(Words& words) {
  double seconds = 0;
  if (IW_staleness(segment(words).handle, &seconds) != 0) return failure();
  return okay(seconds < 0 ? "never" : std::to_string(seconds));
}

std::string Agent::refresh(Words& words) { return result(IW_refresh(segment(words).handle)); }

std::string Agent::messages(Words& words) {
  IW_stats_t stats{};
  stats.size = sizeof stats;
  if (IW_stats(segment(words).handle, &stats) != 0) return failure();
  return okay(std::to_string(stats.messages_sent));
}

std::string Agent::listen(Words& words) {
  Segment& to = segment(words);
  to.listening = &listenings_.emplace_back();
  return result(to.listening->begin(to.handle));
}

// told S VERSION|connected|disconnected [SECONDS]
std::string Agent::told(Words& words) {
  Listening* const by = segment(words).listening;
  if (by == nullptr) throw BadCommand("the segment has no listener");
  const std::string what = words.next();
  const double seconds = words.at_end() ? 30 : std::stod(words.next());
  if (what == "connected" || what == "disconnected") {
    const auto wanted = what == "connected" ? IW_CONNECTED : IW_DISCONNECTED;
    if (by->connection(wanted, seconds)) return "ok";
  } else if (const auto newest = by->version(std::stoull(what), seconds)) {
    return okay(std::to_string(*newest));
  }
  return by->is_lost() ? "error SEGMENT_LOST the library said so" : "error TIMED_OUT not told";
}

// make S NAME|- COUNT TYPE
std::string Agent::make(Words& words) {
  const IW_handle_t handle = segment(words).handle;
  const std::string name = words.next();
  const std::size_t count = std::stoul(words.next());
  const IW_type_t type = types_.find(parse_json(words.rest()));
  if (type == nullptr) return "error UNKNOWN_TYPE not declared: " + std::string(words.rest());
  const void* const made =
      IW_malloc_array(handle, type, count, name == "-" ? nullptr : name.c_str());
  if (made == nullptr) return failure();
  return okay(std::to_string(described(handle, made).serial));
}

std::string Agent::free(Words& words) {
  const Segment& in = segment(words);
  void* const block = IW_mip_to_ptr((in.url + "#" + words.next()).c_str());
  return block == nullptr ? failure() : result(IW_free(in.handle, block));
}

Unit Agent::unit(const Segment& in, const std::string& place) {
  const std::string first = place.substr(0, place.find('/'));
  const std::size_t hash = std::min(first.find('#'), first.size());
  const void* const block = IW_mip_to_ptr((in.url + "#" + first.substr(0, hash)).c_str());
  if (block == nullptr) throw LibraryFailed{};
  const IW_block_t in_copy = described(in.handle, block);
  if (in_copy.is_reserved != 0) throw NotInCopy{};
  const std::size_t offset = hash == first.size() ? 0 : std::stoul(first.substr(hash + 1));
  Unit found = find_unit(values_of(in_copy), offset);
  for (std::size_t at = first.size(); at < place.size();) {
    const std::size_t end = std::min(place.find('/', at + 1), place.size());
    found = find_unit(held_by(found), std::stoul(place.substr(at + 1, end - at - 1)));
    at = end;
  }
  return found;
}

std::string Agent::get(Words& words) {
  const Segment& in = segment(words);
  const Unit found = unit(in, words.next());
  return okay(show(found));
}

std::string Agent::put(Words& words) {
  const Segment& in = segment(words);
  const Unit found = unit(in, words.next());
  agent::put(in.handle, found, parse_json(words.rest()));
  return "ok";
}

std::string Agent::mip(Words& words) {
  const Segment& in = segment(words);
  const IW_mip_t text = IW_ptr_to_mip(unit(in, words.next()).at);
  if (text == nullptr) return failure();
  std::string answer = okay(text);
  IW_mip_free(text);
  return answer;
}

std::string Agent::resolve(Words& words) {
  const void* const place = IW_mip_to_ptr(words.next().c_str());
  if (place == nullptr) return failure();
  const IW_mip_t text = IW_ptr_to_mip(place);
  if (text == nullptr) return failure();
  std::string answer = okay(text);
  IW_mip_free(text);
  return answer;
}

std::string Agent::dump(Words& words) {
  const IW_handle_t handle = segment(words).handle;
  std::string text = "[";
  for (const void* at = nullptr; (at = IW_next_block(handle, at)) != nullptr;) {
    const IW_block_t block = described(handle, at);
    if (text.size() > 1) text += ',';
    text += "{\"serial\":" + std::to_string(block.serial) + ",\"name\":" + quoted(block.name) +
            ",\"type\":" + description_of(block.type) +
            ",\"count\":" + std::to_string(block.count) +
            ",\"units\":" + show_units(values_of(block)) + "}";
  }
  return okay(text + "]");
}

}  // namespace agent
