// The paper's aString (section 4.1.2), its two functions as printed.
#pragma once

#include <cstring>
#include <string>

#include "interweave/containers.hpp"

namespace iw::containers_test {

using namespace iw::containers;

class aString : public Object {
 public:
  aString() = default;
  explicit aString(const std::string& text) { text.copy(sData, sizeof sData - 1); }
  OBJ_RETURN Marshal(MarshalStream* stream) override;
  OBJ_RETURN DeMarshal(DeMarshalStream* stream) override;
  std::string text() const { return {sData, strnlen(sData, sizeof sData)}; }

 private:
  char sData[256] = {};
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
// clang-format off
inline OBJ_RETURN aString::Marshal(MarshalStream* stream)
{
    int strLength = sizeof(sData); // first send the size of the string
    int bytesWritten = stream->WriteBytes(&strLength, sizeof(int));
    bytesWritten += stream->WriteBytes(&sData, strLength);
    if (bytesWritten == (strLength+sizeof(int))){return OBJ_RETURN_SUCCESS;}
    else {return OBJ_RETURN_FAIL;}
}
inline OBJ_RETURN aString::DeMarshal(DeMarshalStream* stream)
{
    // demarshall sData
    int strLength = 0;
    int bytesRead = stream->ReadBytes(&strLength, sizeof(int));
    bytesRead += stream->ReadBytes(&sData, strLength);
    if (bytesRead == (strLength + sizeof(int))){return OBJ_RETURN_SUCCESS;}
    else {return OBJ_RETURN_FAIL;}
}
// clang-format on
#pragma GCC diagnostic pop

}  // namespace iw::containers_test
