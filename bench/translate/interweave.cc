// InterWeave's translation without a server: a writer's cached copy collects a diff as a release
// does, a reader's copy checks and applies it as an acquire does. The diff is gathered in memory,
// like the rivals' bytes; a client sends long rows of numbers from where they lie instead.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include "diff/collect.h"
#include "diff/update.h"
#include "memory/heap.h"
#include "memory/subsegment.h"
#include "swizzle/swizzler.h"
#include "translate/system.h"
#include "types/registry.h"
#include "types/segment_types.h"

namespace bench {

namespace {

using namespace iw;

void require(const types::Result& result) {
  if (result.ok()) return;
  std::fprintf(stderr, "translate: interweave: %s\n", result.text.c_str());
  std::exit(1);
}

types::Url url_of_segment() {
  types::Url url;
  require(types::parse_url("localhost/translate", url));
  return url;
}

class NoOtherSegments final : public swizzle::Resolver {
  memory::Heap* find(const types::Url&) override { return nullptr; }
};

const types::Type& type_of(Shape shape) {
  constexpr std::size_t kShapeCount = kShapes.size();
  const IW_type_t tables[kShapeCount] = {IW_int,         IW_double,     IW_ints_32,
                                         IW_doubles_32,  IW_text_256,   IW_text_4,
                                         IW_int_pointer, IW_int_double, IW_mixed};
  types::Result why;
  const types::Type* const type =
      types::Registry::program().find(tables[static_cast<std::size_t>(shape)], why);
  require(why);
  return *type;
}

struct Copy {
  Copy() : types(types::Registry::program()), slots(url_of_segment()) {
    memory::HeapOptions options;
    options.url = url_of_segment();
    options.reservation_bytes = 0;
    require(memory::Heap::create(options, heap));
  }

  std::byte* allocate(const types::Type& type, std::uint64_t count) {
    types::Result why;
    const types::Type* const here = types.add(type, why);
    require(why);
    memory::Block block;
    require(heap->allocate(*here, count, {}, false, block));
    return block.address;
  }
  std::byte* address_of(std::uint64_t serial) {
    memory::Block block;
    return heap->find(serial, block) ? block.address : nullptr;
  }

  std::unique_ptr<memory::Heap> heap;
  types::SegmentTypes types;
  swizzle::SlotTable slots;
  NoOtherSegments resolver;
};

enum class Mode { block, diff };

class InterWeave final : public System {
 public:
  InterWeave(Shape shape, Mode mode)
      : mode_(mode), sources_(shape), untracked_(sources_.now().size_bytes()) {
    const memory::SerialRange serials{1, 100};
    require(writer_.heap->begin_write(std::span(&serials, 1)));
    array_ = writer_.allocate(type_of(shape), element_count(shape));
    for (int turn = 0; turn < 2 && pointee_count(shape) != 0; ++turn) {
      const std::vector<int>& values = sources_.values[turn].pointees();
      pointees_[turn] = reinterpret_cast<int*>(
          writer_.allocate(types::primitive_type(types::Primitive::int32), values.size()));
      std::copy(values.begin(), values.end(), pointees_[turn]);
    }
    sources_.now().store(array_, pointees_[0]);
    require(writer_.heap->collect(pages_));
    require(writer_.heap->changed_runs(pages_, runs_));
    translate(runs_);
    commit(runs_);
    (void)apply_us();
    for (const memory::SubsegmentPages& one : pages_) {
      const auto begin = one.subsegment->begin();
      if (array_ < begin || array_ >= one.subsegment->end()) continue;
      const auto offset = static_cast<std::size_t>(array_ - begin);
      whole_array_ = {{one.subsegment, {{offset, sources_.now().size_bytes()}}}};
    }
  }

  double collect_us() override {
    const Source& source = sources_.next();
    int* const pointees = pointees_[sources_.turn];
    const double untracked_us = time_us([&] { source.store(untracked_.data(), pointees); });
    const double stores_us = time_us([&] {
      require(writer_.heap->begin_write({}));
      source.store(array_, pointees);
    });
    page_faults_us_ = std::max(0.0, stores_us - untracked_us);
    if (mode_ == Mode::block) {
      const double us = time_us([&] { translate(whole_array_); });
      require(writer_.heap->collect(pages_));
      commit(whole_array_);
      return us;
    }
    const double us = time_us([&] {
      require(writer_.heap->collect(pages_));
      require(writer_.heap->changed_runs(pages_, runs_));
      translate(runs_);
    });
    commit(runs_);
    return us;
  }

  double apply_us() override {
    return time_us([&] {
      diff::CachedCopy copy{*reader_.heap, reader_.types, reader_.slots};
      diff::Update update;
      require(diff::Update::read(bytes_, copy, {}, update));
      require(update.apply(copy, reader_.resolver));
    });
  }

  void check() override {
    const auto serial = static_cast<std::uint64_t>(2 + sources_.turn);
    const auto* const pointees = reinterpret_cast<const int*>(reader_.address_of(serial));
    sources_.now().expect_equal("interweave", reader_.address_of(1), pointees);
  }

  [[nodiscard]] double page_faults_us() const override { return page_faults_us_; }
  [[nodiscard]] double commit_us() const override { return commit_us_; }

 private:
  void translate(std::span<const memory::SubsegmentRuns> runs) {
    swizzle::Swizzler swizzler(*writer_.heap, writer_.slots, writer_.resolver);
    require(diff::collect(
        {*writer_.heap, writer_.types, writer_.slots, swizzler, version_, runs, false}, outgoing_));
  }

  void commit(std::span<const memory::SubsegmentRuns> runs) {
    bytes_ = outgoing_.flattened();
    commit_us_ = time_us([&] { require(writer_.heap->commit_write(runs)); });
    writer_.types.commit();
    writer_.slots.commit();
    ++version_;
  }

  Mode mode_;
  Sources sources_;
  std::vector<std::byte> untracked_;
  Copy writer_, reader_;
  std::byte* array_ = nullptr;
  int* pointees_[2] = {};
  std::vector<memory::SubsegmentPages> pages_;
  std::vector<memory::SubsegmentRuns> runs_, whole_array_;
  std::uint64_t version_ = 0;
  diff::CollectedDiff outgoing_;
  std::vector<std::byte> bytes_;
  double page_faults_us_ = 0, commit_us_ = 0;
};

}  // namespace

std::unique_ptr<System> interweave_block(Shape shape) {
  return std::make_unique<InterWeave>(shape, Mode::block);
}

std::unique_ptr<System> interweave_diff(Shape shape) {
  return std::make_unique<InterWeave>(shape, Mode::diff);
}

}  // namespace bench
