// Random types, and random values of any type, for tests.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "memory/heap.h"
#include "types/construction.h"
#include "types/hash.h"
#include "types/navigation.h"
#include "types/type.h"

namespace iw::diff {

inline std::string numbered(const char* word, std::size_t number) {
  return std::string(word).append(std::to_string(number));
}

class RandomTypes {
 public:
  explicit RandomTypes(std::mt19937& random) : random_(random) {}

  // A record of anything, with types made before among its parts.
  const types::Type& record() {
    auto type = fresh(types::Kind::record);
    type->name = numbered("record", made_.size());
    const std::size_t fields = 1 + random_() % 8;
    for (std::size_t i = 0; i < fields; ++i) {
      type->fields.push_back({numbered("f", i), &part(), 0, 0, 0});
    }
    return finish(std::move(type));
  }

 private:
  using Kind = types::Kind;

  static std::unique_ptr<types::Type> fresh(Kind kind) {
    auto type = std::make_unique<types::Type>();
    type->kind = kind;
    return type;
  }

  const types::Type& finish(std::unique_ptr<types::Type> type) {
    types::Type* const group[] = {type.get()};
    EXPECT_EQ(types::finish_structure(*type), "");
    EXPECT_TRUE(types::hash_group(group));
    EXPECT_TRUE(types::lay_out(*type));
    EXPECT_EQ(types::check_layout(*type), "");
    types::compile_plan(*type);
    made_.push_back(std::move(type));
    return *made_.back();
  }

  const types::Type& primitive() {
    return types::primitive_type(static_cast<types::Primitive>(1 + random_() % 11));
  }

  const types::Type& part() {
    switch (random_() % 10) {
      case 0: {
        auto type = fresh(Kind::string);
        type->count = 1 + random_() % 40;
        return finish(std::move(type));
      }
      case 1: {
        auto type = fresh(Kind::array);
        type->element = &part();
        type->count = 1 + random_() % 5;
        return finish(std::move(type));
      }
      case 2:
        return choice();
      case 3: {
        auto type = fresh(Kind::pointer);
        if (random_() % 2 == 0) type->target = made_.empty() ? &primitive() : any();
        return finish(std::move(type));
      }
      case 4: {
        auto type = fresh(Kind::enumeration);
        for (int i = 0; i < 3; ++i) {
          type->members.push_back(
              {numbered("m", static_cast<std::size_t>(i)), static_cast<std::int32_t>(random_())});
        }
        return finish(std::move(type));
      }
      case 5:
        return made_.empty() || any()->depth > 10 || any()->units > 200 ? primitive() : *small();
      default:
        return primitive();
    }
  }

  const types::Type* any() { return made_[random_() % made_.size()].get(); }
  const types::Type* small() {
    const types::Type* const type = any();
    return type->units <= 200 && type->depth <= 10 ? type : &primitive();
  }

  const types::Type& choice() {
    auto type = fresh(Kind::choice);
    type->discriminant_name = "d";
    type->discriminant = &types::primitive_type(types::Primitive::int32);
    for (std::int32_t i = 0; i < 3; ++i) {
      const types::Type* const arm = random_() % 4 == 0 ? nullptr : &part();
      std::string name;
      if (arm != nullptr) name = numbered("a", static_cast<std::size_t>(i));
      type->arms.push_back({std::move(name), arm, 0, {i + 1}});
    }
    if (random_() % 2 == 0) {
      type->arms.push_back({"other", &primitive(), 0, {}});
      type->has_default = true;
    }
    return finish(std::move(type));
  }

  std::mt19937& random_;
  std::deque<std::unique_ptr<types::Type>> made_;
};

// Stores random values into units of a block, as an application would.
class RandomValues {
 public:
  RandomValues(std::mt19937& random, const memory::Heap& heap) : random_(random), heap_(heap) {}

  void store(const memory::Block& block, std::uint64_t first, std::uint64_t end) {
    units(types::array_step(*block.type, block.count), first, end, block.address);
  }

 private:
  void units(const types::Step& array, std::uint64_t first, std::uint64_t end, std::byte* base) {
    types::for_each_row(array, first, end, [&](const types::UnitRow& row) {
      for (std::uint64_t i = 0; i < row.count; ++i) {
        unit(row, base + row.offset_bytes + i * row.stride_bytes);
      }
      return true;
    });
  }

  void word(std::byte* to, std::int32_t value) { std::memcpy(to, &value, sizeof value); }

  void unit(const types::UnitRow& row, std::byte* to) {
    using types::UnitKind;
    switch (row.kind) {
      case UnitKind::number:
        for (int i = 0; i < row.number_bytes; ++i) to[i] = static_cast<std::byte>(random_());
        return;
      case UnitKind::boolean:
        return word(to, static_cast<std::int32_t>(random_() % 2));
      case UnitKind::enumeration:
        return word(to, row.type->members[random_() % row.type->members.size()].value);
      case UnitKind::string: {
        const std::size_t length = random_() % (row.type->count + 1);
        for (std::size_t i = 0; i < length; ++i)
          to[i] = static_cast<std::byte>(1 + random_() % 255);
        to[length] = std::byte{0};
        return;
      }
      case UnitKind::choice: {
        const auto value = static_cast<std::int32_t>(random_() % 4);
        word(to, value);
        const types::Arm* const arm = row.type->arm_for(value);
        if (arm == nullptr || arm->type == nullptr) return;
        const types::Step whole = types::array_step(*arm->type, 1);
        return units(whole, 0, whole.end_unit(), to + arm->offset_bytes);
      }
      default:
        return pointer(row.type->target, to);
    }
  }

  // To any place that a pointer of this type may lead to, among a few tries; or NULL.
  void pointer(const types::Type* target, std::byte* to) {
    void* address = nullptr;
    memory::Block block;
    for (int i = 0; i < 8 && address == nullptr; ++i) {
      if (!heap_.next_by_serial(random_() % 40, block)) continue;
      const std::uint64_t unit = random_() % (block.count * block.type->units + 1);
      if (target == nullptr || types::begins_at_unit(*block.type, block.count, unit, *target)) {
        address = block.address + types::byte_of_unit(*block.type, block.count, unit);
      }
    }
    std::memcpy(to, &address, sizeof address);
  }

  std::mt19937& random_;
  const memory::Heap& heap_;
};

}  // namespace iw::diff
