#include "swizzle/swizzler.h"

#include <cstddef>
#include <random>

#include "swizzle/swizzle_fixture.h"
#include "types/navigation.h"

namespace iw::swizzle {
namespace {

using memory::double_type;
using memory::int_type;
using types::error_code;
using types::samples::everything;
using types::samples::node_t;

class SwizzlerTest : public testing::Test {
 protected:
  SwizzlerTest() : a_("127.0.0.1/a"), b_("127.0.0.1/b"), c_("other.example:9000/c") {
    known_.add(a_);
    known_.add(b_);
    known_.add(c_);
  }

  [[nodiscard]] Swizzler swizzler(Segment& segment) {
    return {*segment.heap, segment.slots, known_, stubs_};
  }
  [[nodiscard]] Swizzler swizzler() { return swizzler(a_); }

  WirePointer wire(const void* address, const types::Type* target = nullptr) {
    WirePointer pointer;
    const Result made = swizzler().to_wire(address, target, pointer);
    EXPECT_TRUE(made.ok()) << made.text;
    return pointer;
  }
  error_code refusal(const void* address, const types::Type* target = nullptr) {
    WirePointer pointer;
    return swizzler().to_wire(address, target, pointer).code;
  }
  void* native(const WirePointer& pointer, const types::Type* target = nullptr) {
    void* address = nullptr;
    const Result made = swizzler().from_wire(pointer, target, address);
    EXPECT_TRUE(made.ok()) << made.text;
    return address;
  }
  StubReason reason_of(const void* address) {
    StubTarget stub;
    EXPECT_TRUE(stubs_.find(address, stub)) << "not a stub";
    return stub.reason;
  }

  Segment a_;
  Segment b_;
  Segment c_;
  KnownSegments known_;
  StubArena stubs_;
};

TEST(WirePointer, IsLittleEndianAsInTheSpecification) {
  // wire-format.md, worked example: block 7, unit 2, the same segment.
  const unsigned char expected[16] = {0, 0, 7, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0};
  std::byte bytes[kWirePointerBytes];
  store_wire_pointer({0, 7, 2}, bytes);
  EXPECT_EQ(std::memcmp(bytes, expected, sizeof bytes), 0);
  const WirePointer extreme{0xFEDC, 0xBA9876543210, 0xFFEEDDCCBBAA9988};
  store_wire_pointer(extreme, bytes);
  EXPECT_EQ(load_wire_pointer(bytes), extreme);
  EXPECT_EQ(std::to_integer<int>(bytes[0]), 0xDC);
  EXPECT_EQ(std::to_integer<int>(bytes[2]), 0x10);
  EXPECT_EQ(std::to_integer<int>(bytes[15]), 0xFF);
}

TEST_F(SwizzlerTest, NullIsNull) {
  EXPECT_TRUE(wire(nullptr).is_null());
  EXPECT_EQ(native({}), nullptr);
}

TEST_F(SwizzlerTest, RoundTripsAtEveryUnitOfARecord) {
  const types::Type& type = everything_type();
  const Block block = a_.insert(7, type, 3);
  for (std::uint64_t unit = 0; unit <= 3 * type.units; ++unit) {
    std::byte* address = block.address + types::byte_of_unit(type, 3, unit);
    EXPECT_EQ(wire(address), (WirePointer{0, 7, unit})) << unit;
    EXPECT_EQ(native({0, 7, unit}), address) << unit;
  }
}

// [MIP-4]: on another machine they would lead to the unit's first byte.
TEST_F(SwizzlerTest, PointersIntoTheInsideOfStringsAndUnionsAreErrors) {
  const Block block = a_.insert(7, everything_type());
  auto* value = reinterpret_cast<everything*>(block.address);
  EXPECT_EQ(native(wire(value->title)), value->title);
  EXPECT_EQ(native(wire(&value->forms[1])), &value->forms[1]);
  EXPECT_EQ(refusal(value->title + 17), error_code::BAD_POINTER);
  EXPECT_EQ(refusal(&value->forms[1].u.radius), error_code::BAD_POINTER);
  WirePointer pointer;
  const Result refused = swizzler().to_wire(value->title + 17, nullptr, pointer);
  const auto offset = static_cast<std::size_t>(value->title + 17 - reinterpret_cast<char*>(value));
  const std::string place = "byte " + std::to_string(offset) + " of block 7 (1 everything)";
  EXPECT_NE(refused.text.find(place), std::string::npos) << refused.text;
}

TEST_F(SwizzlerTest, APointerIntoTheMiddleOfAUnitIsAnError) {
  const Block block = a_.insert(7, everything_type());
  auto* value = reinterpret_cast<everything*>(block.address);
  EXPECT_EQ(refusal(reinterpret_cast<std::byte*>(&value->big) + 1), error_code::BAD_POINTER);
  EXPECT_EQ(refusal(&value->c + 4), error_code::OK);
  EXPECT_EQ(refusal(block.end() + 1), error_code::BAD_POINTER);
}

TEST_F(SwizzlerTest, OnePastTheEndIsTheBlocksOwn) {
  const Block first = a_.insert(1, double_type(), 2);
  const Block second = a_.insert(2, double_type(), 2);
  EXPECT_EQ(wire(first.end(), &double_type()), (WirePointer{0, 1, 2}));
  EXPECT_EQ(native({0, 1, 2}, &double_type()), first.end());
  EXPECT_EQ(wire(second.address, &double_type()), (WirePointer{0, 2, 0}));
}

TEST_F(SwizzlerTest, TheTargetsTypeMustBeThere) {
  const Block nodes = a_.insert(1, node_type(), 4);
  auto* node = reinterpret_cast<node_t*>(nodes.address);
  EXPECT_EQ(wire(&node[2], &node_type()), (WirePointer{0, 1, 4}));
  EXPECT_EQ(wire(&node[2].key, &int_type()), (WirePointer{0, 1, 4}));
  EXPECT_EQ(refusal(&node[2].next, &node_type()), error_code::BAD_POINTER);
  EXPECT_EQ(refusal(&node[0].next, &node_type()), error_code::BAD_POINTER);
  EXPECT_EQ(refusal(&node[2], &double_type()), error_code::BAD_POINTER);
  EXPECT_EQ(refusal(&node[0], &double_type()), error_code::BAD_POINTER);
  EXPECT_EQ(native({0, 1, 4}, &node_type()), &node[2]);
  EXPECT_EQ(reason_of(native({0, 1, 5}, &node_type())), StubReason::wrong_type);
  EXPECT_EQ(reason_of(native({0, 1, 1}, &node_type())), StubReason::wrong_type);
  EXPECT_EQ(reason_of(native({0, 1, 0}, &double_type())), StubReason::wrong_type);
  EXPECT_EQ(reason_of(native({0, 1, 9}, &node_type())), StubReason::beyond_end);
  EXPECT_EQ(reason_of(native({0, 1, ~std::uint64_t{0}})), StubReason::beyond_end);
  EXPECT_EQ(reason_of(native({0, 2, 0}, &node_type())), StubReason::no_block);
}

TEST_F(SwizzlerTest, AnAddressInNoSegmentIsAnError) {
  int local = 0;
  WirePointer pointer;
  const Result refused = swizzler().to_wire(&local, &int_type(), pointer);
  EXPECT_EQ(refused.code, error_code::BAD_POINTER);
  EXPECT_NE(refused.text.find("0x"), std::string::npos) << refused.text;
  const Block block = a_.insert(1, int_type(), 10);
  EXPECT_TRUE(a_.heap->erase(1).ok());
  EXPECT_EQ(refusal(block.address), error_code::BAD_POINTER) << "the block was freed";
}

TEST_F(SwizzlerTest, PointersToOtherSegmentsGoThroughSlots) {
  const Block in_b = b_.insert(5, int_type(), 10);
  const Block in_c = c_.insert(6, int_type(), 10);
  EXPECT_EQ(wire(in_c.address + 8, &int_type()), (WirePointer{1, 6, 2}));
  EXPECT_EQ(wire(in_b.address, &int_type()), (WirePointer{2, 5, 0}));
  EXPECT_EQ(wire(in_c.end(), &int_type()), (WirePointer{1, 6, 10})) << "its slot was forgotten";
  EXPECT_EQ(*a_.slots.text_of(1), "iw://other.example:9000/c");
  EXPECT_EQ(*a_.slots.text_of(2), "/b");
  EXPECT_EQ(native({1, 6, 2}, &int_type()), in_c.address + 8);
  EXPECT_EQ(native({2, 5, 10}, &int_type()), in_b.end());
  EXPECT_EQ(reason_of(native({2, 5, 11}, &int_type())), StubReason::beyond_end);
  EXPECT_EQ(reason_of(native({2, 5, 0}, &double_type())), StubReason::wrong_type);
  EXPECT_EQ(reason_of(native({2, 99, 0}, &double_type())), StubReason::not_mapped);
}

// Pointers of one heap are looked up together, in whatever order they come.
TEST_F(SwizzlerTest, ARowIsTranslatedUpToThePointerThatIsRefused) {
  const Block in_a = a_.insert(1, int_type(), 10);
  const Block in_b = b_.insert(5, int_type(), 10);
  int local = 0;
  const std::byte* const places[] = {in_a.address,     in_a.address + 12, in_b.address + 8,
                                     nullptr,          in_b.address + 16, in_a.address + 4,
                                     in_a.address + 8, in_b.end()};
  std::vector<const void*> addresses(std::begin(places), std::end(places));
  addresses.push_back(&local);
  addresses.push_back(in_a.address);
  std::vector<WirePointer> wires(addresses.size());
  std::size_t done = 0;
  EXPECT_EQ(swizzler().to_wire(addresses, &int_type(), wires.data(), done).code,
            error_code::BAD_POINTER);
  EXPECT_EQ(done, std::size(places));
  const WirePointer expected[] = {{0, 1, 0}, {0, 1, 3}, {1, 5, 2}, {},
                                  {1, 5, 4}, {0, 1, 1}, {0, 1, 2}, {1, 5, 10}};
  EXPECT_TRUE(std::equal(std::begin(expected), std::end(expected), wires.begin()));

  wires[done] = {0, 0, 1};
  std::vector<void*> back(wires.size());
  const Result refused = swizzler().from_wire(wires, &int_type(), back.data(), done);
  EXPECT_EQ(refused.code, error_code::BAD_POINTER);
  EXPECT_EQ(done, std::size(places));
  EXPECT_TRUE(std::equal(std::begin(places), std::end(places), back.begin()));
  EXPECT_NE(refused.text.find("slot 0, block 0, unit 1 "), std::string::npos) << refused.text;
  EXPECT_NE(refused.text.find("the segment has 1 slots"), std::string::npos) << refused.text;
}

TEST_F(SwizzlerTest, NothingBehindARowIsLookedAt) {
  const Block block = a_.insert(1, int_type(), 10);
  const WirePointer wires[] = {{0, 1, 3}, {0, 1, 4}, {0, 1, 5}};
  void* addresses[3] = {};
  std::size_t done = 0;
  ASSERT_TRUE(swizzler().from_wire(std::span(wires, 2), &int_type(), addresses, done).ok());
  EXPECT_EQ(done, 2U);
  EXPECT_EQ(addresses[1], block.address + 16);
  EXPECT_EQ(addresses[2], nullptr);
}

TEST_F(SwizzlerTest, ARowEndsAtAStubThatFindsNoRoom) {
  StubArena none(0);
  Swizzler one(*a_.heap, a_.slots, known_, none);
  const Block block = a_.insert(1, int_type(), 10);
  const WirePointer wires[] = {{0, 1, 3}, {0, 9, 0}, {0, 1, 4}};
  void* addresses[3] = {};
  std::size_t done = 0;
  EXPECT_EQ(one.from_wire(wires, &int_type(), addresses, done).code, error_code::NO_MEMORY);
  EXPECT_EQ(done, 1U);
  EXPECT_EQ(addresses[0], block.address + 12);
}

TEST_F(SwizzlerTest, ASegmentForWhichNoSlotIsLeftIsAnError) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < kMaxSlots; ++i) texts.push_back("/of" + std::to_string(i));
  ASSERT_TRUE(a_.slots.add_received(1, texts).ok());
  const Block in_b = b_.insert(5, int_type(), 10);
  EXPECT_EQ(refusal(in_b.address), error_code::TOO_LARGE);
}

TEST_F(SwizzlerTest, SearchesBothWaysAreCounted) {
  const Block block = a_.insert(1, int_type(), 10);
  Swizzler one = swizzler();
  one.predict_blocks(false);
  WirePointer pointer;
  void* address = nullptr;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(one.to_wire(block.address, nullptr, pointer).ok());
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(one.from_wire(pointer, nullptr, address).ok());
  EXPECT_EQ(one.searched(), 5U);
}

TEST_F(SwizzlerTest, ATranslationAsksOnceForASegment) {
  const Block in_b = b_.insert(5, int_type(), 10);
  std::uint16_t slot = 0;
  ASSERT_TRUE(a_.slots.slot_for(b_.heap->url(), slot).ok());
  Swizzler one = swizzler();
  void* address = nullptr;
  for (std::uint64_t unit = 0; unit < 10; ++unit) {
    ASSERT_TRUE(one.from_wire({slot, 5, unit}, &int_type(), address).ok());
    EXPECT_EQ(address, in_b.address + 4 * unit);
    ASSERT_TRUE(one.from_wire({slot, 77, unit}, &int_type(), address).ok());
  }
  EXPECT_EQ(known_.asked, 1);
}

TEST_F(SwizzlerTest, ASlotThatLeadsBackIsTheSegmentItself) {
  const Block block = a_.insert(1, int_type(), 10);
  const std::string self[] = {"/a"};
  ASSERT_TRUE(a_.slots.add_received(1, self).ok());
  EXPECT_EQ(native({1, 1, 3}), block.address + 12);
  EXPECT_EQ(wire(block.address + 12), (WirePointer{0, 1, 3}));
}

TEST_F(SwizzlerTest, WhatTheServerShouldHaveRefusedIsAnError) {
  void* address = nullptr;
  EXPECT_EQ(swizzler().from_wire({1, 5, 0}, nullptr, address).code, error_code::BAD_POINTER);
  EXPECT_EQ(swizzler().from_wire({0, 0, 1}, nullptr, address).code, error_code::BAD_POINTER);
  EXPECT_EQ(swizzler().from_wire({1, 0, 0}, nullptr, address).code, error_code::BAD_POINTER);
}

TEST_F(SwizzlerTest, AStubTravelsBackUnchanged) {
  const std::string elsewhere[] = {"/nowhere", "iw://gone.example:1/x"};
  ASSERT_TRUE(a_.slots.add_received(1, elsewhere).ok());
  for (const WirePointer& pointer :
       {WirePointer{1, 3, 4}, WirePointer{2, 3, 4}, WirePointer{2, 3, 5}, WirePointer{0, 999, 0}}) {
    void* stub = native(pointer, &int_type());
    EXPECT_EQ(wire(stub, &int_type()), pointer);
    EXPECT_EQ(native(pointer, &int_type()), stub);
  }
  EXPECT_EQ(stubs_.size(), 4U);
  // From another segment the same place has another slot.
  void* stub = native({1, 3, 4});
  WirePointer from_b;
  ASSERT_TRUE(swizzler(b_).to_wire(stub, nullptr, from_b).ok());
  EXPECT_EQ(from_b, (WirePointer{1, 3, 4}));
  EXPECT_EQ(*b_.slots.text_of(1), "/nowhere");
  EXPECT_EQ(refusal(static_cast<std::byte*>(stub) + 8), error_code::BAD_POINTER);
}

TEST_F(SwizzlerTest, AReservedBlockKeepsItsAddressWhenItsDataArrives) {
  std::uint16_t slot = 0;
  ASSERT_TRUE(a_.slots.slot_for(b_.heap->url(), slot).ok());
  StubTarget stub;
  ASSERT_TRUE(stubs_.find(native({slot, 8, 1}, &int_type()), stub)) << "nothing is reserved yet";
  Block reserved;
  ASSERT_TRUE(b_.heap->reserve(8, int_type(), 10, "", reserved).ok());
  void* address = native({slot, 8, 1}, &int_type());
  EXPECT_EQ(address, reserved.address + 4);
  EXPECT_EQ(*static_cast<int*>(address), 0);
  EXPECT_EQ(wire(address, &int_type()), (WirePointer{slot, 8, 1}));
  const Block filled = b_.insert(8, int_type(), 10);
  const int value = 31;
  ASSERT_TRUE(memory::write_incoming(*b_.heap, filled, 4, &value, sizeof value).ok());
  EXPECT_EQ(*static_cast<int*>(address), 31);
}

TEST_F(SwizzlerTest, OwnedBlocksArePointedAtByTheirFieldsOnly) {
  const Block owned = a_.insert(4, double_type(), 6, true);
  const Block plain = a_.insert(5, double_type(), 6);
  Swizzler one = swizzler();
  WirePointer pointer;
  ASSERT_TRUE(one.owned_to_wire(owned.address, double_type(), 6, pointer).ok());
  EXPECT_EQ(pointer, (WirePointer{0, 4, 0}));
  ASSERT_TRUE(one.owned_to_wire(owned.address, double_type(), Swizzler::any_count, pointer).ok());
  EXPECT_EQ(one.owned_to_wire(owned.address, double_type(), 5, pointer).code,
            error_code::BAD_VALUE);
  EXPECT_EQ(one.owned_to_wire(owned.address + 8, double_type(), 6, pointer).code,
            error_code::BAD_POINTER);
  EXPECT_EQ(one.owned_to_wire(owned.address, int_type(), 6, pointer).code, error_code::BAD_POINTER);
  EXPECT_EQ(one.owned_to_wire(plain.address, double_type(), 6, pointer).code,
            error_code::BAD_POINTER);
  ASSERT_TRUE(one.owned_to_wire(nullptr, double_type(), 0, pointer).ok());
  EXPECT_TRUE(pointer.is_null());
  EXPECT_TRUE(one.owned_to_wire(nullptr, double_type(), Swizzler::any_count, pointer).ok());
  EXPECT_EQ(one.owned_to_wire(nullptr, double_type(), 1, pointer).code, error_code::BAD_VALUE);

  void* address = nullptr;
  std::uint64_t count = 0;
  ASSERT_TRUE(one.owned_from_wire({0, 4, 0}, double_type(), address, count).ok());
  EXPECT_EQ(address, owned.address);
  EXPECT_EQ(count, 6U);
  ASSERT_TRUE(one.owned_from_wire({}, double_type(), address, count).ok());
  EXPECT_EQ(address, nullptr);
  EXPECT_EQ(count, 0U);
  for (const WirePointer& bad :
       {WirePointer{0, 4, 1}, WirePointer{0, 5, 0}, WirePointer{0, 6, 0}, WirePointer{1, 4, 0}}) {
    EXPECT_EQ(one.owned_from_wire(bad, double_type(), address, count).code,
              error_code::BAD_POINTER);
  }
  EXPECT_EQ(one.owned_from_wire({0, 4, 0}, int_type(), address, count).code,
            error_code::BAD_POINTER);
}

// Any 16 bytes from the network: an address that may be looked at, a stub, or an error.
TEST_F(SwizzlerTest, AnyWirePointerIsHarmless) {
  a_.insert(1, everything_type(), 5);
  b_.insert(2, node_type(), 5);
  const std::string texts[] = {"/b", "/x"};
  ASSERT_TRUE(a_.slots.add_received(1, texts).ok());
  const types::Type* targets[] = {nullptr, &int_type(), &node_type(), &everything_type()};
  std::mt19937_64 random(1);
  Swizzler one = swizzler();
  int good = 0;
  for (int i = 0; i < 100'000; ++i) {
    WirePointer pointer{static_cast<std::uint16_t>(random() % 4), random() % 4, random() % 170};
    if (random() % 8 == 0) pointer.unit = random();
    const types::Type* target = targets[random() % 4];
    void* address = nullptr;
    const Result result = one.from_wire(pointer, target, address);
    if (!result) {
      const bool is_full = stubs_.size() == kMaxStubs;
      ASSERT_TRUE(result.code == error_code::BAD_POINTER ||
                  (is_full && result.code == error_code::NO_MEMORY))
          << result.text;
      ASSERT_EQ(address, nullptr);
      continue;
    }
    WirePointer back;
    ASSERT_TRUE(one.to_wire(address, target, back).ok());
    ASSERT_EQ(back, pointer);
    good += stubs_.find(address, *std::make_unique<StubTarget>()) ? 0 : 1;
  }
  EXPECT_GT(good, 1000);
}

}  // namespace
}  // namespace iw::swizzle
