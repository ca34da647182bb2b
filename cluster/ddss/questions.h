// What nodes ask each other, as it travels: between nodes of one build, on machines alike.
#pragma once

#include <array>
#include <cstring>
#include <string>

#include "ddss/layout.h"
#include "ddss/lock.h"
#include "ddss/names.h"
#include "fabric/fabric.h"

namespace iw::ddss {

// Question::join, with the key of the node's memory as payload.
struct JoinAsked {
  fabric::Address address;
};
struct JoinAnswer {
  std::int32_t error;
  std::uint32_t number;
  std::uint64_t deaths;  // of nodes that the newcomer will not hear of
};

// A node that joined, to all, from the founder; with the key of its memory as payload.
struct MemberNews {
  fabric::Address address;
  std::uint64_t number;
};
struct GoneNews {
  std::uint64_t number;
};
// To the one who takes the founder's place: who listens to him, and the highest number that he
// knows; with the key of his memory as payload.
struct ReportNews {
  fabric::Address address;
  std::uint64_t number;
  std::uint64_t newest;
};

// Question::create.
struct CreateAsked {
  Descriptor wanted;
  std::uint64_t home;
};
// Question::describe.
struct DescribeAsked {
  Descriptor made;
};
// Of create, describe and release.
struct DescriptorAnswer {
  std::int64_t error = 0;
  Descriptor descriptor;
};

// Question::reserve.
struct ReserveAsked {
  Key key;
  std::uint64_t bytes;
};
struct ReserveAnswer {
  std::int64_t error;
  std::uint64_t offset;
};

// Question::release and Question::survey; the latter's answer is a Survey.
struct KeyAsked {
  Key key;
};

// Question::store, with the bytes as payload.
struct StoreAsked {
  Descriptor what;
  std::uint64_t offset;
};
struct StoreAnswer {
  std::int64_t error;
};

// Question::settle: what the name stands for, or 0; without a name, a key whose name is to be
// forgotten. Question::claim and Question::renounce: ClaimAsked. The answer of all but the last is
// a NameAnswer.
inline constexpr std::size_t name_bytes_max = 127;
using NameText = std::array<char, name_bytes_max + 1>;  // ends with zeroes
struct NameAsked {
  NameText name{};
  Key key = 0;
};
struct ClaimAsked {
  NameText name{};
  std::uint64_t claim = 0;  // the asking node's number of it
  Finding found;
};
struct NameAnswer {
  Key key;
};
inline NameText text_of_name(const std::string& name) {
  NameText text{};
  name.copy(text.data(), name_bytes_max);
  return text;
}
inline std::string name_of(const NameText& text) {
  return {text.data(), strnlen(text.data(), name_bytes_max)};
}

}  // namespace iw::ddss
