// Which member functions are shipped, and by which numbers.
//
//   struct Grid : StandardContainer {
//     void paint(int row, int column, int colour);
//     static void list(Functions<Grid>& functions) { functions.add<&Grid::paint>(1); }
//   };
//
// The number is what travels, with a hash of the arguments' kinds: a reader that has no such
// number, or means something else by it, asks for the whole object instead. A function without a
// number may be called all the same: the writer sends the whole object then.
#pragma once

#include <map>
#include <mutex>
#include <stdexcept>
#include <tuple>

#include "interweave/containers/marshalled.hpp"

namespace iw::containers {

// Of one class. A function's identity is the address of a variable that only it has.
class FunctionTable {
 public:
  using Apply = std::function<bool(StandardContainer&, DeMarshalStream&)>;
  struct Number {
    int number;
    std::uint32_t signature;
  };
  // Throws std::invalid_argument: the number is not positive, or another function's.
  void add(int number, const void* identity, const std::string& signature, Apply apply);
  // nullptr: not known.
  const Number* find(const void* identity) const;
  // False: unknown, or its arguments are not there.
  bool apply(int number, std::uint32_t signature, StandardContainer& to,
             DeMarshalStream& arguments) const;

 private:
  struct Entry {
    Number number;
    Apply apply;
  };
  mutable std::mutex mutex_;
  std::map<int, Entry> by_number_;
  std::map<const void*, Number> by_identity_;
};

template <typename Member>
struct MemberFunction;
template <typename C, typename R, typename... A>
struct MemberFunction<R (C::*)(A...)> {
  static_assert(((!std::is_lvalue_reference_v<A> ||
                  std::is_const_v<std::remove_reference_t<A>>)&&...),
                "what a shipped function stores through a reference would be lost");
  using Class = C;
  using Arguments = std::tuple<std::remove_cvref_t<A>...>;
  static std::string signature() {
    return ("" + ... + Marshalled<std::remove_cvref_t<A>>::signature());
  }
};
template <typename C, typename R, typename... A>
struct MemberFunction<R (C::*)(A...) noexcept> : MemberFunction<R (C::*)(A...)> {};

template <auto Function>
inline constexpr char identity_of = 0;

template <typename C>
class Functions {
 public:
  template <auto Function>
  Functions& add(int number) {
    using Member = MemberFunction<decltype(Function)>;
    table_.add(number, &identity_of<Function>, Member::signature(),
               [](StandardContainer& to, DeMarshalStream& stream) {
                 typename Member::Arguments arguments;
                 const bool is_read = std::apply(
                     [&](auto&... each) { return (demarshal(stream, &each) && ...); }, arguments);
                 if (!is_read || stream.left() != 0) return false;
                 std::apply(
                     [&](auto&... each) { (static_cast<C&>(to).*Function)(std::move(each)...); },
                     arguments);
                 return true;
               });
    return *this;
  }
  FunctionTable& table() { return table_; }
  // The program's only one. Functions may be added at any time. Never destroyed: updates may arrive
  // while the program exits.
  static Functions& all() {
    static auto* const only = new Functions;
    return *only;
  }

 private:
  Functions() {
    if constexpr (requires { C::list(*this); }) C::list(*this);
  }
  FunctionTable table_;
};

}  // namespace iw::containers
