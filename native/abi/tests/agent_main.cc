// A client process that does what it is told, one command a line, and answers each with one line:
// "ok", a value, or "error CODE TEXT". It works on one segment with arrays of int and arrows that
// lead to some, and reads pads.
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "abi/tests/ear.h"
#include "interweave.h"
#include "pads.h"

namespace {

struct Arrow {
  int* at;
};
const IW_type_def pointer_to_int = IW_POINTER_DEF("", &IW_def_int);
const IW_field_def arrow_fields[] = {{"at", &pointer_to_int, offsetof(Arrow, at)}};
const IW_type_def arrow_type =
    IW_RECORD_DEF("test_arrow", sizeof(Arrow), alignof(Arrow), arrow_fields, 1);

class Agent {
 public:
  std::string run(const std::string& line) {
    std::istringstream in(line);
    std::string word;
    in >> word;
    if (word == "open") return open(in);
    if (word == "also") return also(in);
    if (word == "close_also") return result(IW_close_segment(also_));
    if (word == "point") return point(in);
    if (word == "pointed_at") return pointed_at(in);
    if (word == "mip_at") return mip_at(in);
    if (word == "close") return result(IW_close_segment(handle_));
    if (word == "rl") return result(IW_rl_acquire(handle_));
    if (word == "rl_release") return result(IW_rl_release(handle_));
    if (word == "wl") return result(IW_wl_acquire(handle_));
    if (word == "wl_for") return result(IW_wl_acquire_for(handle_, number(in)));
    if (word == "release") return result(IW_wl_release(handle_));
    if (word == "abort") return result(IW_wl_abort(handle_));
    if (word == "make") return make(in);
    if (word == "put") return put(in);
    if (word == "get") return get(in);
    if (word == "add") return add(in);
    if (word == "add_both") return add_both(in);
    if (word == "stripe") return stripe(in);
    if (word == "free") return free(in);
    if (word == "sent") return std::to_string(statistics().diff_bytes_sent);
    if (word == "whole_bytes") return std::to_string(statistics().whole_bytes);
    if (word == "searched") return std::to_string(statistics().searched_blocks);
    if (word == "pad") return pad(in);
    if (word == "blocks") return std::to_string(statistics().blocks);
    if (word == "diff_bytes") return std::to_string(statistics().diff_bytes_received);
    if (word == "strict") return result(IW_set_coherence(handle_, IW_STRICT, 0));
    if (word == "listen_on_thread") return "ok";
    if (word == "listen_in_loop") return ear_.listen_in_loop();
    if (word == "listen_for") return listen_for(in);
    if (word == "hear") return ear_.next();
    if (word == "version") return std::to_string(IW_version(handle_));
    return "error 0 no such command: " + word;
  }

 private:
  static double number(std::istringstream& in) {
    double value = 0;
    in >> value;
    return value;
  }

  static std::string result(int code) { return code == 0 ? "ok" : failure(); }

  static std::string failure() {
    return "error " + std::to_string(IW_errno()) + " " + IW_strerror();
  }

  std::string open(std::istringstream& in) {
    IW_open_options options{};
    options.size = sizeof options;
    options.flags = IW_CREATE;
    in >> url_ >> options.timeout;
    handle_ = IW_open_segment_with(url_.c_str(), &options);
    return handle_ == nullptr ? failure() : "ok";
  }

  // By another URL: whether it is the same copy.
  std::string also(std::istringstream& in) {
    std::string url;
    in >> url;
    also_ = IW_open_segment(url.c_str());
    if (also_ == nullptr) return failure();
    return also_ == handle_ ? "same" : "other";
  }

  // Makes an arrow that leads there.
  std::string point(std::istringstream& in) {
    std::string name;
    std::string mip;
    in >> name >> mip;
    auto* const arrow = static_cast<Arrow*>(IW_malloc_named(handle_, &arrow_type, name.c_str()));
    if (arrow == nullptr) return failure();
    arrow->at = static_cast<int*>(IW_mip_to_ptr(mip.c_str()));
    return arrow->at == nullptr ? failure() : "ok";
  }

  static std::string mip_of(const void* place) {
    const IW_mip_t mip = place == nullptr ? nullptr : IW_ptr_to_mip(place);
    if (mip == nullptr) return failure();
    std::string text = mip;
    IW_mip_free(mip);
    return text;
  }

  // The MIP of the place to which an arrow leads.
  std::string pointed_at(std::istringstream& in) {
    std::string name;
    in >> name;
    const void* const found = block(name);
    return found == nullptr ? failure() : mip_of(static_cast<const Arrow*>(found)->at);
  }

  // The canonical MIP of the place with that MIP.
  static std::string mip_at(std::istringstream& in) {
    std::string mip;
    in >> mip;
    return mip_of(IW_mip_to_ptr(mip.c_str()));
  }

  int* block(const std::string& name) {
    return static_cast<int*>(IW_mip_to_ptr((url_ + "#" + name).c_str()));
  }

  std::string make(std::istringstream& in) {
    std::string name;
    std::size_t count = 0;
    in >> name >> count;
    return IW_malloc_array(handle_, IW_int, count, name.c_str()) == nullptr ? failure() : "ok";
  }

  std::string put(std::istringstream& in) {
    std::string name;
    std::size_t index = 0;
    int value = 0;
    in >> name >> index >> value;
    int* const array = block(name);
    if (array == nullptr) return failure();
    array[index] = value;
    return "ok";
  }

  std::string get(std::istringstream& in) {
    std::string name;
    std::size_t index = 0;
    in >> name >> index;
    const int* const array = block(name);
    return array == nullptr ? failure() : std::to_string(array[index]);
  }

  // Adds one to every so-many-th element, so many times.
  std::string stripe(std::istringstream& in) {
    std::string name;
    std::size_t step = 0;
    std::size_t count = 0;
    in >> name >> step >> count;
    int* const array = block(name);
    if (array == nullptr) return failure();
    for (std::size_t i = 0; i < count; ++i) ++array[i * step];
    return "ok";
  }

  std::string free(std::istringstream& in) {
    std::string name;
    in >> name;
    int* const array = block(name);
    return array == nullptr ? failure() : result(IW_free(handle_, array));
  }

  std::string pad(std::istringstream& in) {
    std::string name;
    in >> name;
    const void* const found = block(name);
    return found == nullptr ? failure()
                            : iw::test::words_of(*static_cast<const iw::test::Pad*>(found));
  }

  IW_stats_t statistics() {
    IW_stats_t stats{};
    stats.size = sizeof stats;
    IW_stats(handle_, &stats);
    return stats;
  }

  // So many writer sections, each adding one to an element.
  std::string add(std::istringstream& in) {
    std::string name;
    std::size_t index = 0;
    int times = 0;
    in >> name >> index >> times;
    for (int i = 0; i < times; ++i) {
      if (IW_wl_acquire(handle_) != 0) return failure();
      int* const array = block(name);
      if (array == nullptr) return failure();
      ++array[index];
      if (IW_wl_release(handle_) != 0) return failure();
    }
    return "ok";
  }

  // So many writer sections, each adding one to the first element of two blocks.
  std::string add_both(std::istringstream& in) {
    std::string first;
    std::string second;
    int times = 0;
    in >> first >> second >> times;
    for (int i = 0; i < times; ++i) {
      if (IW_wl_acquire(handle_) != 0) return failure();
      for (const std::string& name : {first, second}) {
        int* const array = block(name);
        if (array == nullptr) return failure();
        ++array[0];
      }
      if (IW_wl_release(handle_) != 0) return failure();
    }
    return "ok";
  }

  std::string listen_for(std::istringstream& in) {
    std::string what;
    in >> what;
    return result(what == "change" ? IW_on_change(handle_, iw::test::Ear::change, &ear_)
                                   : IW_on_connection(handle_, iw::test::Ear::connection, &ear_));
  }

  std::string url_;
  IW_handle_t handle_ = nullptr;
  IW_handle_t also_ = nullptr;
  iw::test::Ear ear_;
};

}  // namespace

int main() {
  if (iw::test::register_pads() != 0) return 1;
  const IW_type_t arrow = &arrow_type;
  if (IW_register_types(&arrow, 1) != 0) return 1;
  Agent agent;
  std::string line;
  while (std::getline(std::cin, line)) std::cout << agent.run(line) << std::endl;
  return 0;
}
