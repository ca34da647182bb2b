// Segments for tests: a heap, a slot table and a resolver over a handful of them.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "memory/heap_fixture.h"
#include "swizzle/swizzler.h"
#include "types/registry.h"

namespace iw::swizzle {

using memory::Block;
using memory::Heap;

struct Segment {
  explicit Segment(const std::string& text)
      : heap(memory::new_heap(text)), slots(memory::url_of(text)) {}

  Block insert(std::uint64_t serial, const types::Type& type, std::uint64_t count = 1,
               bool is_owned = false) {
    Block block;
    const Result made = heap->insert(serial, type, count, "", is_owned, block);
    EXPECT_TRUE(made.ok()) << made.text;
    return block;
  }

  std::unique_ptr<Heap> heap;
  SlotTable slots;
};

class KnownSegments : public Resolver {
 public:
  Heap* find(const types::Url& url) override {
    ++asked;
    auto known = heaps.find(url.text());
    return known == heaps.end() ? nullptr : known->second;
  }
  void add(Segment& segment) { heaps[segment.heap->url().text()] = segment.heap.get(); }

  std::map<std::string, Heap*> heaps;
  int asked = 0;
};

inline const types::Type& sample(IW_type_t table) {
  static types::Registry* registry = [] {
    auto* made = new types::Registry;
    for (const IW_type_t* one : types::samples::kAll) EXPECT_TRUE(made->add({one, 1}).ok());
    return made;
  }();
  Result why;
  const types::Type* type = registry->find(table, why);
  EXPECT_NE(type, nullptr) << why.text;
  return *type;
}
inline const types::Type& node_type() { return sample(types::samples::IW_node_t); }
inline const types::Type& everything_type() { return sample(types::samples::IW_everything); }

}  // namespace iw::swizzle
