// Figure 5 of ICDCS'03 4.2: what a release and an update cost when one word in 1, 2, 4 ... 16384 of
// a 1 MiB int array changed. Uses the rooms directly: no server, no sockets. Writes
// granularity.csv: ratio,operation,us,bytes,pages; operations store (what the stores cost beyond
// storing to memory that nobody watches), scan (which pages), compare (which words), translate,
// collect (their sum), apply; bytes are those of the diff.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "diff/collect.h"
#include "diff/update.h"
#include "harness/results.h"
#include "memory/heap.h"
#include "platform/clock.h"
#include "platform/memory.h"
#include "swizzle/swizzler.h"
#include "types/registry.h"
#include "types/segment_types.h"

namespace {

using namespace iw;

constexpr std::size_t kInts = 262144;
constexpr std::size_t kRatioMax = 16384;
constexpr int kRounds = 61;
constexpr int kWarmUp = 10;

void require(const types::Result& result) {
  if (result.ok()) return;
  std::fprintf(stderr, "granularity: %s\n", result.text.c_str());
  std::exit(1);
}

template <typename F>
double time_us(F&& f) {
  const std::int64_t begin = platform::now_ns();
  f();
  return static_cast<double>(platform::now_ns() - begin) / 1e3;
}

class NoOtherSegments final : public swizzle::Resolver {
  memory::Heap* find(const types::Url&) override { return nullptr; }
};

types::Url url_of_segment() {
  types::Url url;
  require(types::parse_url("localhost/granularity", url));
  return url;
}

struct Copy {
  Copy() : types(types::Registry::program()), slots(url_of_segment()) {
    memory::HeapOptions options;
    options.url = url_of_segment();
    options.reservation_bytes = 0;
    require(memory::Heap::create(options, heap));
  }
  std::unique_ptr<memory::Heap> heap;
  types::SegmentTypes types;
  swizzle::SlotTable slots;
  NoOtherSegments resolver;
};

struct Costs {
  double store = 0, scan = 0, compare = 0, translate = 0, apply = 0;
  double bytes = 0, pages = 0;
};

class Pair {
 public:
  Pair() : untracked_(kInts) {
    const memory::SerialRange serials{1, 1};
    require(writer_.heap->begin_write(std::span(&serials, 1)));
    memory::Block block;
    const types::Type& type = types::primitive_type(types::Primitive::int32);
    require(writer_.heap->allocate(type, kInts, {}, false, block));
    words_ = reinterpret_cast<int*>(block.address);
    Costs ignored;
    collect(ignored);
    apply(ignored);
  }

  Costs round(std::size_t ratio) {
    Costs costs;
    ++value_;
    const double untracked_us = time_us([&] { store(untracked_.data(), ratio); });
    const double stores_us = time_us([&] {
      require(writer_.heap->begin_write({}));
      store(words_, ratio);
    });
    costs.store = std::max(0.0, stores_us - untracked_us);
    collect(costs);
    apply(costs);
    check();
    return costs;
  }

 private:
  void store(int* words, std::size_t ratio) const {
    for (std::size_t i = 0; i < kInts; i += ratio) words[i] = value_;
  }

  void collect(Costs& costs) {
    std::vector<memory::SubsegmentPages> pages;
    std::vector<memory::SubsegmentRuns>& runs = runs_;
    costs.scan = time_us([&] { require(writer_.heap->collect(pages)); });
    costs.compare = time_us([&] { require(writer_.heap->changed_runs(pages, runs)); });
    costs.translate = time_us([&] {
      swizzle::Swizzler swizzler(*writer_.heap, writer_.slots, writer_.resolver);
      require(diff::collect(
          {*writer_.heap, writer_.types, writer_.slots, swizzler, version_, runs, true},
          outgoing_));
    });
    for (const memory::SubsegmentPages& one : pages) {
      for (const platform::ByteRange& range : one.pages) {
        costs.pages += static_cast<double>(range.size_bytes() / platform::page_size());
      }
    }
    bytes_ = outgoing_.flattened();
    costs.bytes = static_cast<double>(bytes_.size());
    require(writer_.heap->commit_write(runs));
    writer_.types.commit();
    writer_.slots.commit();
    ++version_;
  }

  void apply(Costs& costs) {
    costs.apply = time_us([&] {
      diff::CachedCopy copy{*reader_.heap, reader_.types, reader_.slots};
      diff::Update update;
      require(diff::Update::read(bytes_, copy, {}, update));
      require(update.apply(copy, reader_.resolver));
    });
  }

  void check() const {
    memory::Block block;
    if (reader_.heap->find(1, block) && std::memcmp(block.address, words_, kInts * 4) == 0) return;
    std::fprintf(stderr, "granularity: the copies differ\n");
    std::exit(1);
  }

  Copy writer_, reader_;
  std::vector<int> untracked_;
  int* words_ = nullptr;
  int value_ = 0;
  std::uint64_t version_ = 0;
  std::vector<memory::SubsegmentRuns> runs_;  // kept for its memory, as a client does
  diff::CollectedDiff outgoing_;
  std::vector<std::byte> bytes_;
};

Costs medians_of(Pair& pair, std::size_t ratio) {
  std::vector<Costs> all;
  for (int i = 0; i < kRounds; ++i) {
    const Costs costs = pair.round(ratio);
    if (i >= kWarmUp) all.push_back(costs);
  }
  const auto median = [&all](double Costs::*member) {
    std::vector<double> samples;
    for (const Costs& one : all) samples.push_back(one.*member);
    return bench::median(samples);
  };
  return {median(&Costs::store),     median(&Costs::scan),  median(&Costs::compare),
          median(&Costs::translate), median(&Costs::apply), median(&Costs::bytes),
          median(&Costs::pages)};
}

}  // namespace

int main() {
  bench::Csv csv("granularity.csv", "ratio,operation,us,bytes,pages");
  std::printf("one word in `ratio` of a 1 MiB int array changed; medians of %d, in us\n",
              kRounds - kWarmUp);
  std::printf("%6s %8s %8s %8s %10s %8s %8s %10s %6s %12s\n", "ratio", "store", "scan", "compare",
              "translate", "collect", "apply", "diff bytes", "pages", "us a page");
  Pair pair;
  double worst_us_a_page = 0;
  for (std::size_t ratio = 1; ratio <= kRatioMax; ratio *= 2) {
    const Costs costs = medians_of(pair, ratio);
    const double collect = costs.scan + costs.compare + costs.translate;
    const double us_a_page = (costs.store + collect) / std::max(1.0, costs.pages);
    if (ratio <= 8) worst_us_a_page = std::max(worst_us_a_page, us_a_page);
    std::printf("%6zu %8.1f %8.1f %8.1f %10.1f %8.1f %8.1f %10.0f %6.0f %12.2f\n", ratio,
                costs.store, costs.scan, costs.compare, costs.translate, collect, costs.apply,
                costs.bytes, costs.pages, us_a_page);
    for (const auto& [operation, us] :
         {std::pair{"store", costs.store}, std::pair{"scan", costs.scan},
          std::pair{"compare", costs.compare}, std::pair{"translate", costs.translate},
          std::pair{"collect", collect}, std::pair{"apply", costs.apply}}) {
      csv.row(
          bench::format("%zu,%s,%.2f,%.0f,%.0f", ratio, operation, us, costs.bytes, costs.pages));
    }
  }
  std::printf(
      "verdict: a release of 10 %% or more costs at most %.2f us a dirty page, its stores included "
      "(target: 1 us)\n",
      worst_us_a_page);
  csv.finish();
  return 0;
}
