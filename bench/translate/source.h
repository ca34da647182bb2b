// The nine shapes of ICDCS'03, Figure 4, as arrays of 1 MiB in the memory of a C program, and the
// values that fill them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "shapes.h"  // of shapes.x

namespace bench {

enum class Shape {
  int_array,
  double_array,
  int_struct,
  double_struct,
  string,
  small_string,
  pointer,
  int_double,
  mix
};

inline constexpr std::array kShapes = {
    Shape::int_array,     Shape::double_array, Shape::int_struct,
    Shape::double_struct, Shape::string,       Shape::small_string,
    Shape::pointer,       Shape::int_double,   Shape::mix};

const char* shape_name(Shape shape);
std::size_t element_bytes(Shape shape);
// As many as 1 MiB has room for.
std::size_t element_count(Shape shape);
// How many ints the pointers of a shape lead to: one each, in order.
std::size_t pointee_count(Shape shape);

// Values for a shape. The values of the two turns differ in every word except padding and the upper
// half of an address. Strings are full.
enum class Turn { one, other };

class Source {
 public:
  // Pointers lead to this object's own ints.
  Source(Shape shape, Turn turn);

  [[nodiscard]] Shape shape() const { return shape_; }
  [[nodiscard]] const std::byte* bytes() const {
    return reinterpret_cast<const std::byte*>(memory_.data());
  }
  [[nodiscard]] std::size_t size_bytes() const {
    return element_count(shape_) * element_bytes(shape_);
  }
  template <typename T>
  [[nodiscard]] const T* as() const {
    return reinterpret_cast<const T*>(memory_.data());
  }
  [[nodiscard]] const std::vector<int>& pointees() const { return pointees_; }

  // The values into memory of the same layout, with pointers to the given ints instead.
  void store(std::byte* to, int* pointees) const;
  // Ends the program unless an array of the same layout has the same values: pointers lead to equal
  // ints, and to `pointees` + i unless that is null.
  void expect_equal(const char* system, const std::byte* array, const int* pointees) const;

 private:
  template <typename T>
  T* fill() {
    return reinterpret_cast<T*>(memory_.data());
  }
  [[noreturn]] void differs(const char* system, std::size_t index) const;

  Shape shape_;
  std::vector<std::uint64_t> memory_;
  std::vector<int> pointees_;
};

}  // namespace bench
