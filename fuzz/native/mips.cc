// MIPs: the canonical text of what was read is read as the same.
#include <string>
#include <string_view>

#include "fuzz/native/target.h"
#include "types/mip.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace iw::types;
  Mip mip;
  if (!parse_mip({reinterpret_cast<const char*>(data), size}, mip).ok()) return 0;
  std::string text = mip.url.text();
  if (mip.serial != 0) text = mip_text(mip.url, mip.serial, mip.unit);
  // One that only fits because host and port were left out may not fit with them.
  if (text.size() > kMaxMipBytes) return 0;
  Mip again;
  FUZZ_CHECK(parse_mip(text, again).ok());
  FUZZ_CHECK(again.url == mip.url && again.serial == mip.serial);
  return 0;
}
