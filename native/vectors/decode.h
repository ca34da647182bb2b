// Each kind of vector through the decoder that the client uses for it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "types/result.h"
#include "vectors/json.h"
#include "vectors/vector_files.h"

namespace iw::vectors {

using types::Result;
using Bytes = std::vector<std::byte>;

struct Decoded {
  Json meaning;
  // The bytes that encode the meaning; nothing where several encodings are valid.
  std::optional<Bytes> bytes;
};

using Decoder = Result (*)(const Vector&, Decoded&);

// Null if nothing decodes the kind.
Decoder decoder_of(const std::string& kind);

// A complete diff that makes the copy which the context of a vector describes.
Bytes context_diff(const Vector& vector);

Result decode_value(const Vector& vector, Decoded& out);
Result decode_pointer(const Vector& vector, Decoded& out);
Result decode_diff(const Vector& vector, Decoded& out);

}  // namespace iw::vectors
