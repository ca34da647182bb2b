#include "abi/thread_error.h"

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

struct LastFailure {
  int code = 0;
  std::string text;
};

LastFailure& last_failure() { return platform::object_of_this_thread<LastFailure>(); }

}  // namespace

int fail(const Result& why, const std::string& where) {
  LastFailure& last = last_failure();
  last.code = -static_cast<int>(why.code);
  last.text = where.empty() ? why.text : where + ": " + why.text;
  last.text += " [";
  last.text += name_of(why.code);
  last.text += ']';
  return last.code;
}

std::nullptr_t fail_null(const Result& why, const std::string& where) {
  (void)fail(why, where);
  return nullptr;
}

int last_code() noexcept { return last_failure().code; }

const char* last_text() noexcept { return last_failure().text.c_str(); }

}  // namespace iw::abi
