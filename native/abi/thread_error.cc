#include "abi/thread_error.h"

#include <array>
#include <cstddef>
#include <new>
#include <span>

#include "platform/thread_object.h"

namespace iw::abi {
namespace {

// Room for the text of a thread's last failure; a longer text loses its end. It is made at the
// thread's first failure and kept, since a failure may be that there is no memory.
struct Room {
  std::array<char, 2048> text;
};

// A thread that never had memory for its Room has this much. It is small, because a library that is
// loaded while the program runs has some hundred bytes of such variables in all.
struct LastFailure {
  int code = 0;
  const char* text = "";
  std::array<char, 256> small_room;
};

thread_local constinit LastFailure last_failure{};

std::span<char> room_for_text() noexcept {
  try {
    return platform::object_of_this_thread<Room>().text;
  } catch (const std::bad_alloc&) {
    return last_failure.small_room;
  }
}

constexpr std::string_view cut_mark = "...";

// Fills a room, with space left for the code's name behind the text.
class TextWriter {
 public:
  TextWriter(std::span<char> room, std::string_view code_name)
      : text_(room),
        code_name_(code_name),
        end_(text_.size() - cut_mark.size() - code_name.size() - 4) {}

  void add(std::string_view part) {
    const std::string_view taken = part.substr(0, end_ - at_);
    append(taken);
    is_cut_ = is_cut_ || taken.size() < part.size();
  }
  void end() {
    if (is_cut_) append(cut_mark);
    append(" [");
    append(code_name_);
    append("]");
    text_[at_] = '\0';
  }

 private:
  void append(std::string_view part) { at_ += part.copy(text_.data() + at_, part.size()); }

  const std::span<char> text_;
  const std::string_view code_name_;
  const std::size_t end_;
  std::size_t at_ = 0;
  bool is_cut_ = false;
};

}  // namespace

int fail(const Result& why, std::string_view where) noexcept {
  last_failure.code = -static_cast<int>(why.code);
  const std::span<char> room = room_for_text();
  last_failure.text = room.data();
  TextWriter text(room, name_of(why.code));
  if (!where.empty()) {
    text.add(where);
    text.add(": ");
  }
  text.add(why.text);
  const std::string_view outcome = why.outcome;
  if (!outcome.empty() && !why.text.empty()) text.add("; ");
  text.add(outcome);
  text.end();
  return last_failure.code;
}

std::nullptr_t fail_null(const Result& why, std::string_view where) noexcept {
  (void)fail(why, where);
  return nullptr;
}

int last_code() noexcept { return last_failure.code; }

const char* last_text() noexcept { return last_failure.text; }

}  // namespace iw::abi
