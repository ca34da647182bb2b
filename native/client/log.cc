#include "client/log.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "platform/mutex.h"
#include "platform/no_fork.h"

namespace iw::client {
namespace {

// IW_LOG is shared with the server, whose levels (but debug) say nothing to us.
bool is_servers_level(std::string_view word) {
  return word == "off" || word == "error" || word == "warn" || word == "info" || word == "trace";
}

LogChoice read_choice() {
  LogChoice choice;
  const char* text = std::getenv("IW_LOG");
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    if (word == "locks") {
      choice.locks = true;
    } else if (word == "debug") {
      choice.debug = true;
    } else if (!word.empty() && !is_servers_level(word)) {
      std::fprintf(stderr, "interweave: IW_LOG: '%.*s' is neither locks nor debug\n",
                   static_cast<int>(word.size()), word.data());
    }
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
  }
  return choice;
}

struct LogFunction {
  platform::Mutex mutex;
  IW_log_fn function IW_GUARDED_BY(mutex) = nullptr;
  void* arg IW_GUARDED_BY(mutex) = nullptr;
};

LogFunction& listener() {
  static LogFunction* const one = new LogFunction;  // used until the process ends
  return *one;
}

void tell(int code, const std::string& text) {
  IW_log_fn function;
  void* arg;
  {
    auto& told = listener();
    const platform::NoForkLock lock(told.mutex);
    function = told.function;
    arg = told.arg;
  }
  if (function != nullptr) {
    function(code, text.c_str(), arg);
  } else {
    std::fprintf(stderr, "interweave: %s\n", text.c_str());
  }
}

}  // namespace

const LogChoice& log_choice() {
  static const LogChoice choice = read_choice();
  return choice;
}

void set_log(IW_log_fn function, void* arg) {
  auto& told = listener();
  const platform::NoForkLock lock(told.mutex);
  told.function = function;
  told.arg = arg;
}

void report(protocol::error_code code, const std::string& text) {
  tell(-static_cast<int>(code), text + " [" + name_of(code) + "]");
}

void trace(const std::string& text) {
  if (log_choice().debug) tell(0, text);
}

}  // namespace iw::client
