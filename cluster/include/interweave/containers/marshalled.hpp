// How values travel: Marshalled<T> for numbers, enumerations, strings, pairs, sequences, maps,
// Objects and Refs; to be specialised for other types. `signature` says what is written, so that
// two programs that mean different things by one function notice. Numbers travel with their lowest
// byte first.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstring>
#include <deque>
#include <map>
#include <type_traits>
#include <utility>

#include "interweave/containers/object.hpp"

namespace iw::containers {

template <typename T>
struct Marshalled;

template <typename T>
bool marshal(MarshalStream& stream, const T& value) {
  return Marshalled<T>::write(stream, value);
}
template <typename T>
bool demarshal(DeMarshalStream& stream, T* value) {
  return Marshalled<T>::read(stream, value);
}

template <typename T>
concept Number = std::is_arithmetic_v<T> || std::is_enum_v<T>;

template <Number T>
struct Marshalled<T> {
  static std::string signature() {
    const char* kind = std::is_floating_point_v<T> ? "f" : std::is_signed_v<T> ? "i" : "u";
    return kind + std::to_string(sizeof(T));
  }
  static bool write(MarshalStream& stream, T value) {
    std::array<std::byte, sizeof(T)> bytes;
    std::memcpy(bytes.data(), &value, sizeof(T));
    if constexpr (std::endian::native == std::endian::big) std::ranges::reverse(bytes);
    return stream.WriteBytes(bytes.data(), sizeof(T)) == static_cast<int>(sizeof(T));
  }
  static bool read(DeMarshalStream& stream, T* value) {
    std::array<std::byte, sizeof(T)> bytes;
    if (stream.ReadBytes(bytes.data(), sizeof(T)) != static_cast<int>(sizeof(T))) return false;
    if constexpr (std::endian::native == std::endian::big) std::ranges::reverse(bytes);
    if constexpr (std::is_same_v<T, bool>) bytes[0] &= std::byte{1};
    std::memcpy(value, bytes.data(), sizeof(T));
    return true;
  }
};

// A number of elements. Each takes at least a byte, so a number beyond the bytes left is refused.
inline bool demarshal_count(DeMarshalStream& stream, std::size_t* count) {
  std::uint32_t read = 0;
  if (!demarshal(stream, &read) || read > stream.left()) return false;
  *count = read;
  return true;
}

template <>
struct Marshalled<std::string> {
  static std::string signature() { return "s"; }
  static bool write(MarshalStream& stream, const std::string& value) {
    const auto count = static_cast<long>(value.size());
    return marshal(stream, static_cast<std::uint32_t>(count)) &&
           stream.WriteBytes(value.data(), count) == count;
  }
  static bool read(DeMarshalStream& stream, std::string* value) {
    std::size_t count = 0;
    if (!demarshal_count(stream, &count)) return false;
    value->resize(count);
    const auto wanted = static_cast<long>(count);
    return stream.ReadBytes(value->data(), wanted) == wanted;
  }
};

template <typename A, typename B>
struct Marshalled<std::pair<A, B>> {
  static std::string signature() {
    return "(" + Marshalled<A>::signature() + Marshalled<B>::signature() + ")";
  }
  static bool write(MarshalStream& stream, const std::pair<A, B>& value) {
    return marshal(stream, value.first) && marshal(stream, value.second);
  }
  static bool read(DeMarshalStream& stream, std::pair<A, B>* value) {
    return demarshal(stream, &value->first) && demarshal(stream, &value->second);
  }
};

// std::vector and std::deque, and std::map as a sequence of pairs.
template <typename Sequence, typename Element>
struct MarshalledSequence {
  static std::string signature() { return "[" + Marshalled<Element>::signature() + "]"; }
  static bool write(MarshalStream& stream, const Sequence& value) {
    if (!marshal(stream, static_cast<std::uint32_t>(value.size()))) return false;
    return std::ranges::all_of(value, [&](const Element& each) { return marshal(stream, each); });
  }
  static bool read(DeMarshalStream& stream, Sequence* value) {
    std::size_t count = 0;
    if (!demarshal_count(stream, &count)) return false;
    value->clear();
    for (; count > 0; count--) {
      Element element{};
      if (!demarshal(stream, &element)) return false;
      value->insert(value->end(), std::move(element));
    }
    return true;
  }
};
template <typename T>
struct Marshalled<std::vector<T>> : MarshalledSequence<std::vector<T>, T> {};
template <typename T>
struct Marshalled<std::deque<T>> : MarshalledSequence<std::deque<T>, T> {};
template <typename K, typename V>
struct Marshalled<std::map<K, V>> {
  using Map = std::map<K, V>;
  static std::string signature() { return "{" + Marshalled<std::pair<K, V>>::signature() + "}"; }
  static bool write(MarshalStream& stream, const Map& value) {
    if (!marshal(stream, static_cast<std::uint32_t>(value.size()))) return false;
    return std::ranges::all_of(value, [&](const auto& each) {
      return marshal(stream, each.first) && marshal(stream, each.second);
    });
  }
  static bool read(DeMarshalStream& stream, Map* value) {
    std::vector<std::pair<K, V>> pairs;
    if (!demarshal(stream, &pairs)) return false;
    value->clear();
    for (auto& each : pairs) value->insert_or_assign(std::move(each.first), std::move(each.second));
    return true;
  }
};

template <>
struct Marshalled<Ref> {
  static std::string signature() { return "r"; }
  static bool write(MarshalStream& stream, const Ref& value) { return marshal_ref(stream, value); }
  static bool read(DeMarshalStream& stream, Ref* value) { return demarshal_ref(stream, value); }
};

// Marshal is not const, as in the paper, and changes nothing.
template <std::derived_from<Object> T>
struct Marshalled<T> {
  static std::string signature() { return "o"; }
  static bool write(MarshalStream& stream, const T& value) {
    return const_cast<T&>(value).Marshal(&stream) == OBJ_RETURN_SUCCESS;
  }
  static bool read(DeMarshalStream& stream, T* value) {
    return value->DeMarshal(&stream) == OBJ_RETURN_SUCCESS;
  }
};

}  // namespace iw::containers
