// How long a diff is: at most the bytes of what changed, as they travel, and 3 per cent, 8 a run
// and 64 a release. Counted are the diff's bytes themselves, not the messages around it.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "diff/copies_fixture.h"

namespace iw::diff {
namespace {

using namespace types::samples;
using types::Primitive;

// Values of which one unit changes.
struct Changing {
  std::string name;
  const types::Type* type;
  std::size_t travelling_bytes;  // of that unit
  bool is_whole;                 // the unit is all of the value
  std::function<void(std::byte*)> change;
};

class SizeTest : public DiffTest {
 protected:
  static constexpr std::size_t kBytes = std::size_t{256} << 10;

  std::vector<Changing> all() {
    std::vector<Changing> kinds;
    const auto increase = [](std::byte* at) { *at = static_cast<std::byte>(1 + int(*at)); };
    const auto number = [&](const char* name, Primitive primitive) {
      const types::Type& one = types::primitive_type(primitive);
      kinds.push_back({name, &one, one.size_bytes, true, increase});
    };
    number("char", Primitive::character);
    number("short", Primitive::int16);
    number("int", Primitive::int32);
    number("hyper", Primitive::hyper);
    number("float", Primitive::float32);
    number("double", Primitive::float64);
    const auto turn = [](std::byte* at) { *reinterpret_cast<int*>(at) ^= 1; };
    kinds.push_back({"bool", &types::primitive_type(Primitive::boolean), 4, true, turn});
    kinds.push_back({"enumeration", &type(IW_colour), 4, true, [](std::byte* at) {
                       int& hue = *reinterpret_cast<int*>(at);
                       hue = hue == 1 ? 2 : 1;
                     }});
    // string<20>, of five letters.
    kinds.push_back({"string", &type(IW_label), kStringLengthBytes + 5, true, [](std::byte* at) {
                       const char letter = *at == std::byte{'a'} ? 'b' : 'a';
                       std::memset(at, letter, 5);
                     }});
    kinds.push_back({"number in a record", &type(IW_node_t), 4, false, increase});
    kinds.push_back({"pointer in a record", &type(IW_node_t), swizzle::kWirePointerBytes, false,
                     [](std::byte* at) {
                       auto* const node = reinterpret_cast<node_t*>(at);
                       node->next = node->next == nullptr ? node : nullptr;
                     }});
    kinds.push_back({"union", &type(IW_shape), 8, true, [](std::byte* at) {
                       auto* const one = reinterpret_cast<shape*>(at);
                       one->kind = 1;
                       ++one->u.radius;
                     }});
    return kinds;
  }

  // Changes the values of these numbers, ascending, and says what the diff may take at most.
  static double change(const Changing& kind, std::byte* values,
                       const std::vector<std::size_t>& numbers) {
    std::size_t runs = 0;
    std::size_t before = ~std::size_t{0} - 1;
    for (const std::size_t number : numbers) {
      kind.change(values + number * kind.type->size_bytes);
      if (!kind.is_whole || number != before + 1) ++runs;
      before = number;
    }
    const auto changed = static_cast<double>(numbers.size() * kind.travelling_bytes);
    return 1.03 * changed + 8.0 * static_cast<double>(runs) + 64.0;
  }

  // One release for each set of numbers; the copies agree afterwards.
  void releases(const Changing& kind,
                const std::function<std::vector<std::size_t>(std::size_t, std::size_t)>& numbers) {
    SCOPED_TRACE(kind.name);
    Copy writer(registry);
    Copy reader(registry);
    writer.begin();
    const std::size_t count = kBytes / kind.type->size_bytes;
    const memory::Block block = writer.allocate(*kind.type, count);
    std::vector<std::size_t> every;
    for (std::size_t i = 0; i < count; ++i) every.push_back(i);
    (void)change(kind, block.address, every);
    ASSERT_TRUE(reader.apply(writer.release()).ok());
    for (std::size_t part = 1; part <= 4096; part *= 2) {
      writer.begin(2);
      const double most = change(kind, block.address, numbers(count, part));
      const Bytes diff = writer.release();
      EXPECT_LE(static_cast<double>(diff.size()), most) << "1 in " << part;
      ASSERT_TRUE(reader.apply(diff).ok());
    }
    expect_equal(writer, reader);
  }
};

TEST_F(SizeTest, OneRunOfEveryLengthIsSentWithLittleMore) {
  for (const Changing& kind : all()) {
    releases(kind, [](std::size_t count, std::size_t part) {
      std::vector<std::size_t> numbers;
      const std::size_t first = (count - count / part) / 2;
      for (std::size_t i = 0; i < count / part; ++i) numbers.push_back(first + i);
      return numbers;
    });
  }
}

TEST_F(SizeTest, ValuesAtEqualDistancesAreSentWithLittleMore) {
  for (const Changing& kind : all()) {
    releases(kind, [](std::size_t count, std::size_t part) {
      std::vector<std::size_t> numbers;
      for (std::size_t i = part / 2; i < count; i += part) numbers.push_back(i);
      return numbers;
    });
  }
}

TEST_F(SizeTest, ScatteredValuesAreSentWithLittleMore) {
  std::mt19937 random(11);
  for (const Changing& kind : all()) {
    releases(kind, [&](std::size_t count, std::size_t part) {
      std::vector<std::size_t> numbers;
      for (std::size_t i = 0; i < count; ++i) {
        if (random() % part == 0) numbers.push_back(i);
      }
      return numbers;
    });
  }
}

}  // namespace
}  // namespace iw::diff
