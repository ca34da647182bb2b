#include "opening.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace iwpy {
namespace {

// How long the main thread waits before it looks for signals.
constexpr std::chrono::milliseconds slice{50};

std::thread::id main_thread;

// Shared by the thread that opens and the one that waits, which may give up.
class Opening {
 public:
  explicit Opening(OpeningWish wish) : wish_(std::move(wish)) {}

  void run() {
    IW_open_options options{};
    options.size = sizeof options;
    if (wish_.create) options.flags |= IW_CREATE;
    if (wish_.read_only) options.flags |= IW_READ_ONLY;
    options.durability = wish_.durability;
    options.timeout = wish_.timeout;
    options.quota = wish_.quota;
    const auto text = [](const Text& one) { return one ? one->c_str() : nullptr; };
    options.token = text(wish_.token);
    options.ca = text(wish_.ca);
    options.cert = text(wish_.cert);
    options.key = text(wish_.key);
    IW_handle_t const opened = IW_open_segment_with(wish_.url.c_str(), &options);
    const Failure failure = opened == nullptr ? Failure::last() : Failure{};
    bool is_unwanted = false;
    {
      const std::lock_guard lock(mutex_);
      handle_ = opened;
      failure_ = failure;
      is_done_ = true;
      is_unwanted = is_given_up_;
    }
    done_.notify_one();
    if (is_unwanted && opened != nullptr) IW_close_segment(opened);
  }

  // Whether it is done.
  bool wait() {
    std::unique_lock lock(mutex_);
    return done_.wait_for(lock, slice, [this] { return is_done_; });
  }

  void give_up() {
    bool is_unwanted = false;
    {
      const std::lock_guard lock(mutex_);
      is_given_up_ = true;
      is_unwanted = is_done_ && handle_ != nullptr;
    }
    if (is_unwanted) IW_close_segment(handle_);
  }

  // When it is done.
  IW_handle_t result() const {
    if (handle_ == nullptr) throw failure_;
    return handle_;
  }

 private:
  const OpeningWish wish_;
  std::mutex mutex_;
  std::condition_variable done_;
  bool is_done_ = false;
  bool is_given_up_ = false;
  IW_handle_t handle_ = nullptr;
  Failure failure_;
};

// False: there is no thread for it.
bool begin(const std::shared_ptr<Opening>& opening) {
  try {
    std::thread([opening] { opening->run(); }).detach();
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

}  // namespace

void this_is_main_thread() { main_thread = std::this_thread::get_id(); }

bool is_main_thread() { return std::this_thread::get_id() == main_thread; }

IW_handle_t open_segment(OpeningWish wish) {
  const auto opening = std::make_shared<Opening>(std::move(wish));
  if (!is_main_thread() || !begin(opening)) {
    const nb::gil_scoped_release others_run;
    opening->run();
    return opening->result();
  }
  while (true) {
    {
      const nb::gil_scoped_release others_run;
      if (opening->wait()) return opening->result();
    }
    if (PyErr_CheckSignals() == 0) continue;
    const nb::python_error raised;
    {
      const nb::gil_scoped_release others_run;
      opening->give_up();
    }
    throw raised;
  }
}

}  // namespace iwpy
