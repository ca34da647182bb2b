// Walks spec/vectors: every good vector is decoded, its meaning compared, and written back to the
// same bytes where there is one way to write it; every malformed one is refused with its error.
//
// What the client does not decode stands in kNotHere with the reason; the walk fails if it is
// decoded (or refused rightly) after all, and if there is a kind that is neither.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "protocol/error.gen.h"
#include "vectors/decode.h"
#include "vectors/show.h"
#include "vectors/vector_files.h"

namespace iw::vectors {
namespace {

// Kinds, and names of single vectors.
const std::map<std::string, std::string>& not_here() {
  static const std::map<std::string, std::string> reasons = {
      {"log-record", "the log is the server's"},
      {"diff-two-versions", "only the server receives releases [DIFF-5]"},
      {"diff-release-with-live", "only the server receives releases [DIFF-5]"},
      {"diff-release-metadata-only", "only the server receives releases [DIFF-5]"},
  };
  return reasons;
}

bool is_not_here(const Vector& vector) {
  if (not_here().contains(vector.name)) return true;
  const bool is_kind = not_here().contains(vector.kind);
  EXPECT_EQ(is_kind, decoder_of(vector.kind) == nullptr) << "the kind " << vector.kind;
  return is_kind;
}

TEST(Vectors, GoodOnesMeanWhatTheySay) {
  const std::vector<Vector>& good = vectors_of("good");
  ASSERT_GT(good.size(), 100U);
  for (const Vector& vector : good) {
    if (is_not_here(vector)) continue;
    SCOPED_TRACE(vector.name);
    Decoded decoded;
    const Result result = decoder_of(vector.kind)(vector, decoded);
    EXPECT_TRUE(result.ok()) << result.text;
    if (!result.ok()) continue;
    const Json& meaning = *vector.json.find("meaning");
    EXPECT_TRUE(decoded.meaning == meaning)
        << "means " << decoded.meaning.print() << "\nnot   " << meaning.print();
    if (decoded.bytes) {
      EXPECT_EQ(show_hex(*decoded.bytes).text, show_hex(vector.bytes()).text);
    }
  }
}

TEST(Vectors, MalformedOnesAreRefusedWithTheirError) {
  const std::vector<Vector>& malformed = vectors_of("malformed");
  ASSERT_GT(malformed.size(), 100U);
  for (const Vector& vector : malformed) {
    SCOPED_TRACE(vector.name);
    const Decoder decoder = decoder_of(vector.kind);
    Decoded decoded;
    const bool expected = !is_not_here(vector);
    if (decoder == nullptr) continue;
    const Result result = decoder(vector, decoded);
    EXPECT_EQ(name_of(result.code) == vector.text("error"), expected)
        << name_of(result.code) << ": " << result.text << "\nexpected: " << vector.text("error")
        << (expected ? "" : ", and not here");
  }
}

}  // namespace
}  // namespace iw::vectors
