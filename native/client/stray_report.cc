#include "client/stray_report.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "memory/address_map.h"
#include "platform/fault.h"
#include "platform/process.h"
#include "track/tracker.h"

namespace iw::client {
namespace {

// A number as text, without memory of its own making: for signal handlers.
class Digits {
 public:
  explicit Digits(std::uint64_t number, int base = 10) {
    end_ = std::to_chars(text_.begin(), text_.end(), number, base).ptr;
  }
  [[nodiscard]] std::string_view text() const {
    return {text_.begin(), static_cast<std::size_t>(end_ - text_.begin())};
  }

 private:
  std::array<char, 20> text_;
  const char* end_;
};

// In the fault handler: async-signal-safe.
void report(void* address, track::Access kind) noexcept {
  const Digits where(reinterpret_cast<std::uintptr_t>(address), 16);
  const std::string_view what = kind == track::Access::write ? "store" : "access";
  memory::FoundBlock found;
  if (!memory::try_find_block(address, found)) {
    const std::array<std::string_view, 5> line{"interweave: ", what,
                                               " without a lock at address 0x", where.text(), "\n"};
    platform::write_to_stderr(line);
    return;
  }
  constexpr std::string_view place =
      platform::fault_address_is_exact ? ", byte " : ", in the page of byte ";
  const Digits serial(found.block.serial);
  const Digits offset(found.offset_bytes);
  const std::array<std::string_view, 9> line{
      "interweave: ", what,         " without a lock in block ",
      serial.text(),  place,        offset.text(),
      ", address 0x", where.text(), "\n"};
  platform::write_to_stderr(line);
}

}  // namespace

void report_strays_at_once() { track::set_stray_handler(report); }

}  // namespace iw::client
