// For tests of the diff format: cached copies without a server. One copy writes, others apply its
// diffs; a complete diff of a copy is made as a server would make it.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "diff/collect.h"
#include "diff/unit_writer.h"
#include "diff/update.h"
#include "diff/varint.h"
#include "memory/heap.h"
#include "protocol/descriptor.gen.h"
#include "swizzle/swizzler.h"
#include "types/descriptor.h"
#include "types/registry.h"
#include "types/sample_types.h"
#include "types/segment_types.h"

namespace iw::diff {

using Bytes = std::vector<std::byte>;

class OneResolver final : public swizzle::Resolver {
 public:
  memory::Heap* find(const types::Url& url) override {
    const auto found = heaps.find(url.text());
    return found == heaps.end() ? nullptr : found->second;
  }
  std::map<std::string, memory::Heap*> heaps;
};

inline types::Url url_of(const std::string& text) {
  types::Url url;
  EXPECT_TRUE(types::parse_url(text, url).ok());
  return url;
}

struct Copy {
  explicit Copy(types::Registry& registry, const std::string& url = "localhost/test")
      : types(registry), slots(url_of(url)) {
    memory::HeapOptions options;
    options.url = url_of(url);
    options.reservation_bytes = 0;
    const Result result = memory::Heap::create(options, heap);
    EXPECT_TRUE(result.ok()) << result.text;
  }

  CachedCopy parts() { return {*heap, types, slots}; }

  // ---- writing
  void begin(std::uint64_t first_serial = 1) {
    const memory::SerialRange range{first_serial, 1000000};
    const Result result = heap->begin_write(std::span(&range, 1));
    ASSERT_TRUE(result.ok()) << result.text;
    pages.clear();
  }
  memory::Block allocate(const types::Type& type, std::uint64_t count = 1,
                         std::string_view name = {}, bool is_owned = false) {
    Result why;
    const types::Type* const here = types.add(type, why);
    EXPECT_NE(here, nullptr) << why.text;
    memory::Block block;
    const Result result = heap->allocate(*here, count, name, is_owned, block);
    EXPECT_TRUE(result.ok()) << result.text;
    return block;
  }
  Result collect_into(CollectedDiff& out, runs::Splicing splicing = runs::Splicing::on,
                      bool may_send_views = true) {
    Result result = heap->collect(pages);
    if (result.ok()) result = heap->changed_runs(pages, changed, splicing);
    if (!result.ok()) return result;
    swizzle::Swizzler swizzler(*heap, slots, resolver);
    return diff::collect({*heap, types, slots, swizzler, version, changed, may_send_views, options},
                         out);
  }
  // Collects and commits.
  Bytes release(runs::Splicing splicing = runs::Splicing::on, bool may_send_views = true) {
    CollectedDiff out;
    const Result result = collect_into(out, splicing, may_send_views);
    EXPECT_TRUE(result.ok()) << result.text;
    Bytes bytes = out.flattened();
    EXPECT_EQ(bytes.size(), out.size_bytes());
    last = out.statistics();
    const Result committed = heap->commit_write(changed);
    EXPECT_TRUE(committed.ok()) << committed.text;
    types.commit();
    slots.commit();
    ++version;
    return bytes;
  }
  void abort() {
    ASSERT_TRUE(heap->rollback_write().ok());
    types.rollback();
    slots.rollback();
  }

  // ---- reading
  Result apply(std::span<const std::byte> bytes) {
    Update update;
    CachedCopy copy = parts();
    Result result = Update::read(bytes, copy, limits, update);
    if (!result.ok()) return result;
    result = update.apply(copy, resolver, swizzle::StubArena::program(), options);
    last = update.statistics();
    if (result.ok() && !update.is_metadata_only()) version = update.to();
    return result;
  }

  std::vector<memory::Block> blocks() const {
    std::vector<memory::Block> all;
    memory::Block block;
    for (std::uint64_t at = 0; heap->next_by_serial(at, block); at = block.serial) {
      all.push_back(block);
    }
    return all;
  }

  // The whole block in travelling form.
  Bytes travelling(const memory::Block& block) {
    swizzle::Swizzler swizzler(*heap, slots, resolver);
    Pieces pieces;
    UnitWriter units(pieces, swizzler, false);
    const types::Step array = types::array_step(*block.type, block.count);
    EXPECT_TRUE(units.write(array, 0, array.end_unit(), block.address)) << units.error().text;
    std::vector<Pieces::Slice> slices;
    pieces.slices(slices);
    return slices.empty() ? Bytes{} : Bytes(slices[0].begin(), slices[0].end());
  }

  std::unique_ptr<memory::Heap> heap;
  types::SegmentTypes types;
  swizzle::SlotTable slots;
  OneResolver resolver;
  Options options;
  std::uint64_t version = 0;
  Limits limits{std::uint64_t{64} << 20};
  std::vector<memory::SubsegmentPages> pages;
  std::vector<memory::SubsegmentRuns> changed;
  Statistics last;  // of the last diff released or applied
};

inline void put_section(Bytes& out, Tag tag, const Bytes& body) {
  std::byte number[kMaxVarintBytes];
  out.push_back(static_cast<std::byte>(tag));
  out.insert(out.end(), number, number + put_varint(body.size(), number));
  out.insert(out.end(), body.begin(), body.end());
}

inline void put_number(Bytes& out, std::uint64_t value) {
  std::byte number[kMaxVarintBytes];
  out.insert(out.end(), number, number + put_varint(value, number));
}

// A diff from 0 of everything that the copy has.
inline Bytes complete_diff(Copy& copy) {
  Bytes out;
  for (const std::uint8_t byte : kMagic) out.push_back(static_cast<std::byte>(byte));
  out.push_back(std::byte{0});
  put_number(out, 0);
  put_number(out, copy.version);
  std::vector<std::uint8_t> descriptors;
  xdr::Writer writer(descriptors);
  for (std::uint32_t serial = 64; serial < copy.types.next_serial(); ++serial) {
    encode(writer, types::describe(*copy.types.find(serial), serial, [&](const types::Type& part) {
             return copy.types.serial_of(part);
           }));
  }
  const auto* const raw = reinterpret_cast<const std::byte*>(descriptors.data());
  put_section(out, Tag::types, Bytes(raw, raw + descriptors.size()));
  Bytes slots;
  put_number(slots, 1);
  for (std::uint16_t slot = 1; slot <= copy.slots.size(); ++slot) {
    const std::string& text = *copy.slots.text_of(slot);
    put_number(slots, text.size());
    for (const char c : text) slots.push_back(static_cast<std::byte>(c));
  }
  if (copy.slots.size() != 0) put_section(out, Tag::slots, slots);
  Bytes blocks;
  Bytes changes;
  std::uint64_t last = 0;
  for (const memory::Block& block : copy.blocks()) {
    const std::string name = copy.heap->name_of(block.serial);
    const Bytes data = copy.travelling(block);
    Bytes run;
    put_number(run, 0);
    put_number(run, block.count * block.type->units);
    run.insert(run.end(), data.begin(), data.end());
    put_number(blocks, zigzag_delta(last, block.serial));
    put_number(blocks, copy.types.serial_of(*block.type));
    put_number(blocks, block.count);
    put_number(blocks, name.size());
    for (const char c : name) blocks.push_back(static_cast<std::byte>(c));
    put_number(changes, zigzag_delta(last, block.serial));
    put_number(changes, run.size());
    changes.insert(changes.end(), run.begin(), run.end());
    last = block.serial;
  }
  if (!blocks.empty()) put_section(out, Tag::blocks, blocks);
  if (!changes.empty()) put_section(out, Tag::changes, changes);
  return out;
}

// The blocks of a complete diff, announced without their data.
inline Bytes metadata_of(Bytes complete) {
  Reader reading(std::span<const std::byte>(complete).subspan(7));
  std::size_t keep = 7;
  while (reading.remaining() != 0) {
    std::uint8_t tag = 0;
    std::uint64_t count = 0;
    Reader body;
    if (!reading.u8(tag) || !reading.varint(count) || !reading.take(count, body)) {
      ADD_FAILURE() << "a complete diff cannot be read";
      return complete;
    }
    if (tag == static_cast<std::uint8_t>(Tag::changes)) break;
    keep = complete.size() - reading.remaining();
  }
  complete.resize(keep);
  complete[4] = std::byte{kMetadataOnly};
  return complete;
}

inline void expect_equal(Copy& a, Copy& b) {
  const std::vector<memory::Block> in_a = a.blocks();
  const std::vector<memory::Block> in_b = b.blocks();
  ASSERT_EQ(in_a.size(), in_b.size());
  for (std::size_t i = 0; i < in_a.size(); ++i) {
    EXPECT_EQ(in_a[i].serial, in_b[i].serial);
    EXPECT_EQ(in_a[i].count, in_b[i].count);
    EXPECT_EQ(in_a[i].is_owned, in_b[i].is_owned);
    EXPECT_TRUE(types::same_layout(*in_a[i].type, *in_b[i].type));
    EXPECT_EQ(a.heap->name_of(in_a[i].serial), b.heap->name_of(in_b[i].serial));
    EXPECT_EQ(a.travelling(in_a[i]), b.travelling(in_b[i])) << "block " << in_a[i].serial;
  }
}

class DiffTest : public testing::Test {
 protected:
  DiffTest() {
    std::vector<IW_type_t> tables;
    for (IW_type_t const* table : types::samples::kAll) tables.push_back(*table);
    tables.push_back(types::samples::IW_label);
    tables.push_back(types::samples::IW_matrix);
    EXPECT_TRUE(registry.add(tables).ok());
  }
  const types::Type& type(IW_type_t table) {
    Result why;
    const types::Type* const found = registry.find(table, why);
    EXPECT_NE(found, nullptr) << why.text;
    return *found;
  }

  types::Registry registry;
};

}  // namespace iw::diff
