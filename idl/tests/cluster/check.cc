// What the generated structs of shapes.x do: bytes at their places, bounds, members, sizes.
#include <cstdio>
#include <cstdlib>

#include "shapes/shapes.gen.h"
#include "shapes/stamps.gen.h"

using namespace iw::shapes;
using iw::fabric::bytes_of, iw::fabric::read_whole, iw::fabric::read_first;

static void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::exit(1);
}
#define EXPECT(condition) expect(condition, #condition)

static Outer sound() {
  Outer outer;
  outer.inner = {Colour::blue, small_max, {}};
  outer.step = Step::two;
  outer.pair = {-2, 3};
  outer.large = large_max;
  return outer;
}

static void structs_lie_little_endian_and_are_read_back() {
  const Outer outer = sound();
  const auto bytes = bytes_of(outer);
  EXPECT(bytes.size() == 32);
  EXPECT(bytes[0] == std::byte{3} && bytes[1] == std::byte{7});
  EXPECT(bytes[8] == std::byte{2} && bytes[9] == std::byte{0});
  EXPECT(bytes[12] == std::byte{0xfe} && bytes[13] == std::byte{0xff});
  EXPECT(bytes[16] == std::byte{0x00} && bytes[17] == std::byte{0xf2});
  Outer back;
  EXPECT(read_whole(bytes, &back) && back == outer);
  std::span<const std::byte> rest;
  Inner inner;
  EXPECT(read_first(bytes, &inner, &rest) && inner == outer.inner && rest.size() == 24);
}

static void other_sizes_and_numbers_are_refused() {
  Outer back;
  const Outer outer = sound();
  for (std::size_t size = 0; size < sizeof outer; size++) {
    EXPECT(!read_whole(bytes_of(outer).first(size), &back));
  }
  for (int colour = 0; colour < 256; colour++) {
    EXPECT(is_known(static_cast<Colour>(colour)) == (colour >= 1 && colour <= 3));
  }
  for (const int step : {-2, -1, 0, 1, 2, 3}) {
    EXPECT(is_known(static_cast<Step>(step)) == (step == -1 || step == 0 || step == 2));
  }
  Outer other = sound();
  other.inner.count = small_max + 1;
  EXPECT(!read_whole(bytes_of(other), &back));
  other = sound();
  other.large = large_max + 1;
  EXPECT(!read_whole(bytes_of(other), &back));
  other = sound();
  other.step = static_cast<Step>(1);
  EXPECT(!check(other));
}

static void messages_end_with_as_many_bytes_as_they_may() {
  for (std::size_t size = 0; size <= 12; size++) {
    const std::string_view text = std::string_view("abcdefghijkl").substr(0, size);
    const auto bytes = encode(Letter{5, Step::back, text});
    EXPECT(bytes.size() == 8 + size);
    Letter back;
    EXPECT(decode(bytes, &back) == (size <= 10));
    if (size <= 10) EXPECT(back.number == 5 && back.step == Step::back && back.text == text);
    EXPECT(!decode(std::span(bytes).first(7), &back));
  }
  Letter wrong{5, static_cast<Step>(7), "a"};
  EXPECT(!decode(encode(wrong), &wrong));
  Parcel parcel{{Colour::red, 8, {}}, {}};
  EXPECT(!decode(encode(parcel), &parcel));
}

// A file within a namespace is of that room, and its names stand for themselves.
static void a_new_struct_has_the_numbers_that_constants_give_it() {
  StampedLetter letter;
  EXPECT(letter.front.value == stamp_value && letter.inner.count == 0);
  EXPECT(bytes_of(letter).size() == 16 && bytes_of(letter)[0] == std::byte{70});
}

int main() {
  structs_lie_little_endian_and_are_read_back();
  other_sizes_and_numbers_are_refused();
  messages_end_with_as_many_bytes_as_they_may();
  a_new_struct_has_the_numbers_that_constants_give_it();
  return 0;
}
