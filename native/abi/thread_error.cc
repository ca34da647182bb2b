#include "abi/thread_error.h"

#include <array>
#include <cstddef>
#include <new>
#include <span>

#include "interweave.h"
#include "platform/thread_object.h"

namespace iw::abi {
namespace {

// The public numbers are those of spec/protocol/error.x.
constexpr bool agrees(int public_code, error_code code) {
  return public_code == -static_cast<int>(code);
}
static_assert(agrees(IW_EUNIMPLEMENTED, error_code::UNIMPLEMENTED));
static_assert(agrees(IW_EMALFORMED, error_code::MALFORMED));
static_assert(agrees(IW_EVERSION_MISMATCH, error_code::VERSION_MISMATCH));
static_assert(agrees(IW_ENOT_OPEN, error_code::NOT_OPEN));
static_assert(agrees(IW_EDENIED, error_code::DENIED));
static_assert(agrees(IW_EBAD_URL, error_code::BAD_URL));
static_assert(agrees(IW_ENO_SEGMENT, error_code::NO_SEGMENT));
static_assert(agrees(IW_ENO_BLOCK, error_code::NO_BLOCK));
static_assert(agrees(IW_EUNKNOWN_TYPE, error_code::UNKNOWN_TYPE));
static_assert(agrees(IW_ETYPE_CONFLICT, error_code::TYPE_CONFLICT));
static_assert(agrees(IW_EBAD_NAME, error_code::BAD_NAME));
static_assert(agrees(IW_ENO_LOCK, error_code::NO_LOCK));
static_assert(agrees(IW_EWOULD_DEADLOCK, error_code::WOULD_DEADLOCK));
static_assert(agrees(IW_ETIMED_OUT, error_code::TIMED_OUT));
static_assert(agrees(IW_EUNREACHABLE, error_code::UNREACHABLE));
static_assert(agrees(IW_EFENCED, error_code::FENCED));
static_assert(agrees(IW_EROLLED_BACK, error_code::ROLLED_BACK));
static_assert(agrees(IW_ESTORE_FULL, error_code::STORE_FULL));
static_assert(agrees(IW_EQUOTA, error_code::QUOTA));
static_assert(agrees(IW_ETOO_LARGE, error_code::TOO_LARGE));
static_assert(agrees(IW_ENO_MEMORY, error_code::NO_MEMORY));
static_assert(agrees(IW_EBAD_POINTER, error_code::BAD_POINTER));
static_assert(agrees(IW_EBAD_VALUE, error_code::BAD_VALUE));
static_assert(agrees(IW_EBAD_ARGUMENT, error_code::BAD_ARGUMENT));
static_assert(agrees(IW_EFORKED, error_code::FORKED));
static_assert(agrees(IW_ESTRAY_WRITE, error_code::STRAY_WRITE));
static_assert(agrees(IW_EREAD_ONLY, error_code::READ_ONLY));
static_assert(agrees(IW_ESTALE, error_code::STALE));
static_assert(agrees(IW_ESTOPPING, error_code::STOPPING));
static_assert(agrees(IW_EREMOVED, error_code::REMOVED));
static_assert(agrees(IW_EDAMAGED, error_code::DAMAGED));
static_assert(agrees(IW_ECANCELLED, error_code::CANCELLED));
static_assert(agrees(IW_EINTERNAL, error_code::INTERNAL));
static_assert(agrees(IW_ESEGMENT_LOST, error_code::SEGMENT_LOST));

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
