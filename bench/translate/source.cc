#include "translate/source.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

namespace bench {

namespace {

constexpr std::size_t kArrayBytes = std::size_t{1} << 20;

class Values {
 public:
  explicit Values(Turn turn) : turn_(turn), random_(turn == Turn::one ? 1 : 2) {}

  int integer() {
    return static_cast<int>(random_() % (1u << 19)) + (turn_ == Turn::one ? 0 : 1 << 19);
  }
  double real() {
    return (turn_ == Turn::one ? 1.0 : -8.0) *
           (1.0 + static_cast<double>(random_() >> 12) * 0x1p-52);
  }
  void text(char* to, std::size_t size_bytes) {
    const char first = turn_ == Turn::one ? 'a' : 'n';
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i + 1 < size_bytes; ++i, bits >>= 4) {
      if (i % 8 == 0) bits = random_();
      to[i] = static_cast<char>(first + (bits & 7));
    }
    to[size_bytes - 1] = 0;
  }

 private:
  Turn turn_;
  std::mt19937_64 random_;
};

}  // namespace

const char* shape_name(Shape shape) {
  constexpr std::array names = {"int_array",     "double_array", "int_struct",
                                "double_struct", "string",       "small_string",
                                "pointer",       "int_double",   "mix"};
  return names[static_cast<std::size_t>(shape)];
}

std::size_t element_bytes(Shape shape) {
  constexpr std::array sizes = {sizeof(int),         sizeof(double),     sizeof(ints_32),
                                sizeof(doubles_32),  sizeof(text_256),   sizeof(text_4),
                                sizeof(int_pointer), sizeof(int_double), sizeof(mixed)};
  return sizes[static_cast<std::size_t>(shape)];
}

std::size_t element_count(Shape shape) { return kArrayBytes / element_bytes(shape); }

std::size_t pointee_count(Shape shape) {
  return shape == Shape::pointer || shape == Shape::mix ? element_count(shape) : 0;
}

Source::Source(Shape shape, Turn turn) : shape_(shape), memory_(kArrayBytes / 8) {
  Values values(turn);
  pointees_.resize(pointee_count(shape));
  for (int& pointee : pointees_) pointee = values.integer();
  const std::size_t bytes = size_bytes();
  switch (shape) {
    case Shape::int_array:
    case Shape::int_struct:
      for (std::size_t i = 0; i < bytes / sizeof(int); ++i) fill<int>()[i] = values.integer();
      break;
    case Shape::double_array:
    case Shape::double_struct:
      for (std::size_t i = 0; i < bytes / sizeof(double); ++i) fill<double>()[i] = values.real();
      break;
    case Shape::string:
    case Shape::small_string:
      for (std::size_t i = 0; i < element_count(shape); ++i) {
        values.text(fill<char>() + i * element_bytes(shape), element_bytes(shape));
      }
      break;
    case Shape::pointer:
      for (std::size_t i = 0; i < element_count(shape); ++i) fill<int*>()[i] = &pointees_[i];
      break;
    case Shape::int_double:
      for (std::size_t i = 0; i < element_count(shape); ++i) {
        int_double& one = fill<int_double>()[i];
        one.i = values.integer();
        one.d = values.real();
      }
      break;
    case Shape::mix:
      for (std::size_t i = 0; i < element_count(shape); ++i) {
        mixed& one = fill<mixed>()[i];
        one.i = values.integer();
        one.d = values.real();
        values.text(one.text, sizeof one.text);
        values.text(one.word, sizeof one.word);
        one.pointer = &pointees_[i];
      }
      break;
  }
}

void Source::store(std::byte* to, int* pointees) const {
  std::memcpy(to, bytes(), size_bytes());
  for (std::size_t i = 0; i < pointees_.size(); ++i) {
    if (shape_ == Shape::pointer) {
      reinterpret_cast<int**>(to)[i] = pointees + i;
    } else {
      reinterpret_cast<mixed*>(to)[i].pointer = pointees + i;
    }
  }
}

void Source::differs(const char* system, std::size_t index) const {
  std::fprintf(stderr, "translate: %s: %s: element %zu is not what was sent\n", system,
               shape_name(shape_), index);
  std::exit(1);
}

void Source::expect_equal(const char* system, const std::byte* array, const int* pointees) const {
  const auto leads_there = [&](const int* pointer, std::size_t i) {
    return pointer != nullptr && *pointer == pointees_[i] &&
           (pointees == nullptr || pointer == pointees + i);
  };
  for (std::size_t i = 0; i < element_count(shape_); ++i) {
    const std::byte* const got = array + i * element_bytes(shape_);
    bool same = false;
    if (shape_ == Shape::pointer) {
      same = leads_there(*reinterpret_cast<int* const*>(got), i);
    } else if (shape_ == Shape::int_double) {
      const auto& sent = as<int_double>()[i];
      const auto& one = *reinterpret_cast<const int_double*>(got);
      same = one.i == sent.i && one.d == sent.d;
    } else if (shape_ == Shape::mix) {
      const auto& sent = as<mixed>()[i];
      const auto& one = *reinterpret_cast<const mixed*>(got);
      same = one.i == sent.i && one.d == sent.d && std::strcmp(one.text, sent.text) == 0 &&
             std::strcmp(one.word, sent.word) == 0 && leads_there(one.pointer, i);
    } else {
      same = std::memcmp(got, bytes() + i * element_bytes(shape_), element_bytes(shape_)) == 0;
    }
    if (!same) differs(system, i);
  }
}

}  // namespace bench
