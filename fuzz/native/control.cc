// Control parts: envelope and body. XDR has one encoding, so what decodes encodes to the same
// bytes.
#include <algorithm>
#include <vector>

#include "fuzz/native/target.h"
#include "protocol/session.gen.h"
#include "vectors/show.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  iw::xdr::Reader reader(data, size);
  iw::protocol::envelope head;
  if (!decode(reader, head)) return 0;
  const auto body = bytes_of(data, size).last(reader.remaining());
  iw::vectors::Json shown;
  std::vector<std::uint8_t> again;
  if (!iw::vectors::show_body(head.type, body, shown, again).ok()) return 0;
  FUZZ_CHECK(std::ranges::equal(std::as_bytes(std::span(again)), body));
  return 0;
}
