// The C++ codec for a test in another language: each line of the input is a type's name and bytes
// in hexadecimal; the answer is `ok` and the decoded value's encoding, or `error` and why not.
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "everything.gen.h"

namespace protocol = iw::protocol;
namespace xdr = iw::xdr;

static std::vector<std::uint8_t> from_hex(const std::string& text) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

template <typename T>
static void answer(const std::vector<std::uint8_t>& bytes) {
  xdr::Reader reader(bytes.data(), bytes.size());
  T value;
  if (!decode(reader, value) || !reader.finish()) {
    std::printf("error %s\n", reader.error());
    return;
  }
  std::vector<std::uint8_t> out;
  xdr::Writer writer(out);
  encode(writer, value);

  // A second copy must be equal to the first, unless that holds a NaN and is not equal to itself.
  T again;
  xdr::Reader second(out.data(), out.size());
  if (!decode(second, again) || second.remaining() != 0 || (again == value) != (value == value)) {
    std::printf("error decoded differently a second time\n");
    return;
  }
  std::printf("ok ");
  for (std::uint8_t byte : out) std::printf("%02x", byte);
  std::printf("\n");
}

int main() {
  std::string type;
  std::string line;
  while (std::getline(std::cin, line)) {
    const std::size_t space = line.find(' ');
    type = line.substr(0, space);
    const std::vector<std::uint8_t> bytes = from_hex(line.substr(space + 1));
    if (type == "primitives") {
      answer<protocol::primitives>(bytes);
    } else if (type == "bytes") {
      answer<protocol::bytes>(bytes);
    } else if (type == "arrays") {
      answer<protocol::arrays>(bytes);
    } else if (type == "unions") {
      answer<protocol::unions>(bytes);
    } else if (type == "tree") {
      answer<protocol::tree>(bytes);
    } else if (type == "forest") {
      answer<protocol::forest>(bytes);
    } else if (type == "ping") {
      answer<protocol::ping>(bytes);
    } else if (type == "expression") {
      answer<protocol::expression>(bytes);
    } else {
      std::printf("error no type %s\n", type.c_str());
    }
  }
  return 0;
}
