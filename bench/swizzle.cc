// Figure 6 of ICDCS'03 4.2: what pointers cost on their way out (swizzled: addresses into what
// travels) and in (unswizzled), by where they lead. Measured are the real paths of a release and an
// update, diff::collect and diff::Update, of one array of 65,536 pointers; no server, no sockets.
// Beside them the deep copies of rpcgen, and everything again without block prediction. Writes
// swizzle.csv: case,system,operation,pointers,ns_per_pointer,million_per_s,searches.
#include <pthread.h>
#include <rpc/rpc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "diff/collect.h"
#include "diff/update.h"
#include "harness/results.h"
#include "memory/heap.h"
#include "memory/subsegment.h"
#include "platform/clock.h"
#include "shapes.h"  // of translate/shapes.x
#include "swizzle/swizzler.h"
#include "types/registry.h"
#include "types/segment_types.h"

// The types have the names of InterWeave's and another layout.
namespace rpc {
#include "rpc_shapes.h"
}

namespace {

using namespace iw;

constexpr std::size_t kPointers = 65536;
constexpr std::size_t kRecords = 2048;  // of 32 ints
constexpr int kRounds = 41;
constexpr int kWarmUp = 6;

[[noreturn]] void fail(const std::string& text) {
  std::fprintf(stderr, "swizzle: %s\n", text.c_str());
  std::exit(1);
}
void require(const types::Result& result) {
  if (!result.ok()) fail(result.text);
}

template <typename F>
double time_ns(F&& f) {
  const std::int64_t begin = platform::now_ns();
  f();
  return static_cast<double>(platform::now_ns() - begin);
}

types::Url url_of(const char* path) {
  types::Url url;
  require(types::parse_url(std::string("localhost/") + path, url));
  return url;
}

const types::Type& program_type(IW_type_t table) {
  types::Result why;
  const types::Type* const type = types::Registry::program().find(table, why);
  require(why);
  return *type;
}

// One process' copy of a segment.
struct Copy {
  explicit Copy(const char* path) : types(types::Registry::program()), slots(url_of(path)) {
    memory::HeapOptions options;
    options.url = url_of(path);
    options.reservation_bytes = 0;
    require(memory::Heap::create(options, heap));
  }
  memory::Block allocate(IW_type_t table, std::uint64_t count) {
    types::Result why;
    const types::Type* const here = types.add(program_type(table), why);
    require(why);
    memory::Block block;
    require(heap->allocate(*here, count, {}, false, block));
    return block;
  }
  void begin_write() {
    const memory::SerialRange serials{1, kPointers + 2};
    require(heap->begin_write(std::span(&serials, 1)));
  }

  std::unique_ptr<memory::Heap> heap;
  types::SegmentTypes types;
  swizzle::SlotTable slots;
};

class OtherSegment final : public swizzle::Resolver {
 public:
  memory::Heap* find(const types::Url&) override { return heap; }
  memory::Heap* heap = nullptr;
};

// The segment that holds what is pointed at: the pointers' own, or another one that both processes
// have a copy of (here, one and the same).
enum class Where { own, other };

struct Pointees {
  Where where;
  IW_type_t type;
  std::size_t blocks;
  std::size_t values_each;
};

// Where pointer number i leads: a block (from 0 on) and an int in it.
struct Place {
  std::size_t block = 0;
  std::size_t number = 0;
};

struct Case {
  std::string name;
  Pointees pointees;
  std::function<Place(std::size_t)> place;
  double target_million_per_s;  // 0: none
};

struct Costs {
  double out_ns = 0, in_ns = 0;  // a pointer
  std::uint64_t out_searches = 0, in_searches = 0;
};

// A writer's and a reader's copy of a segment with an array of pointers.
class Pair {
 public:
  Pair(const Case& which, bool predicts_blocks)
      : case_(which), options_{predicts_blocks}, writer_("pointers"), reader_("pointers") {
    writer_.begin_write();
    const memory::Block array = writer_.allocate(IW_int_pointer, kPointers);
    make_pointees();
    auto* const pointers = reinterpret_cast<int**>(array.address);
    for (std::size_t i = 0; i < kPointers; ++i) pointers[i] = address_in(pointees_, i);
    std::vector<memory::SubsegmentPages> pages;
    std::vector<memory::SubsegmentRuns> runs;
    require(writer_.heap->collect(pages));
    require(writer_.heap->changed_runs(pages, runs));
    collect(runs);
    (void)apply();
    for (const memory::SubsegmentPages& one : pages) {
      const std::byte* const begin = one.subsegment->begin();
      if (array.address < begin || array.address >= one.subsegment->end()) continue;
      whole_array_ = {
          {one.subsegment, {{static_cast<std::size_t>(array.address - begin), array.size_bytes}}}};
    }
    check(array.serial);
  }

  void round(Costs& costs) {
    require(writer_.heap->begin_write({}));
    std::vector<memory::SubsegmentPages> pages;
    require(writer_.heap->collect(pages));
    costs.out_ns = collect(whole_array_) / kPointers;
    costs.out_searches = outgoing_.statistics().searches;
    costs.in_ns = apply() / kPointers;
    costs.in_searches = searches_in_;
  }

 private:
  void make_pointees() {
    const Pointees& pointees = case_.pointees;
    Copy* home = &writer_;
    if (pointees.where == Where::other) {
      other_ = std::make_unique<Copy>("other");
      other_->begin_write();
      resolver_.heap = other_->heap.get();
      home = other_.get();
    }
    for (std::size_t i = 0; i < pointees.blocks; ++i) {
      pointees_.push_back(home->allocate(pointees.type, pointees.values_each));
    }
  }

  int* address_in(const std::vector<memory::Block>& blocks, std::size_t i) const {
    const Place place = case_.place(i);
    return reinterpret_cast<int*>(blocks[place.block].address) + place.number;
  }

  double collect(std::span<const memory::SubsegmentRuns> runs) {
    const double ns = time_ns([&] {
      swizzle::Swizzler swizzler(*writer_.heap, writer_.slots, resolver_);
      require(diff::collect(
          {*writer_.heap, writer_.types, writer_.slots, swizzler, version_, runs, true, options_},
          outgoing_));
    });
    bytes_ = outgoing_.flattened();
    require(writer_.heap->commit_write(runs));
    writer_.types.commit();
    writer_.slots.commit();
    ++version_;
    return ns;
  }

  double apply() {
    return time_ns([&] {
      diff::CachedCopy copy{*reader_.heap, reader_.types, reader_.slots};
      diff::Update update;
      require(diff::Update::read(bytes_, copy, {}, update));
      require(update.apply(copy, resolver_, swizzle::StubArena::program(), options_));
      searches_in_ = update.statistics().searches;
    });
  }

  // Every pointer that arrived leads to the reader's copy of what the writer's leads to.
  void check(std::uint64_t serial) const {
    std::vector<memory::Block> here = pointees_;
    if (case_.pointees.where == Where::own) {
      for (memory::Block& block : here) {
        if (!reader_.heap->find(block.serial, block)) fail(case_.name + ": a block is missing");
      }
    }
    memory::Block array;
    if (!reader_.heap->find(serial, array)) fail(case_.name + ": the array is missing");
    const auto* const pointers = reinterpret_cast<int* const*>(array.address);
    for (std::size_t i = 0; i < kPointers; ++i) {
      if (pointers[i] != address_in(here, i)) fail(case_.name + ": a pointer leads astray");
    }
  }

  const Case& case_;
  const diff::Options options_;
  Copy writer_, reader_;
  std::unique_ptr<Copy> other_;
  OtherSegment resolver_;
  std::vector<memory::Block> pointees_;  // the writer's
  std::vector<memory::SubsegmentRuns> whole_array_;
  std::uint64_t version_ = 0;
  diff::CollectedDiff outgoing_;
  std::vector<std::byte> bytes_;
  std::uint64_t searches_in_ = 0;
};

// ---- rpcgen: what the pointers lead to is copied, and made anew where it arrives. ----

class RpcgenCopy {
 public:
  RpcgenCopy() : pointees_(kPointers), pointers_(kPointers), sent_(std::size_t{1} << 20) {
    std::iota(pointees_.begin(), pointees_.end(), 1);
    for (std::size_t i = 0; i < kPointers; ++i) pointers_[i] = &pointees_[i];
  }

  void round(Costs& costs) {
    auto* from = reinterpret_cast<char*>(pointers_.data());
    char* to = nullptr;
    costs.out_ns = time_ns([&] { translate(XDR_ENCODE, from); }) / kPointers;
    costs.in_ns = time_ns([&] { translate(XDR_DECODE, to); }) / kPointers;
    for (std::size_t i = 0; i < kPointers; ++i) {
      if (*reinterpret_cast<int**>(to)[i] != pointees_[i]) fail("rpcgen: a copy differs");
    }
    translate(XDR_FREE, to);
  }

 private:
  void translate(xdr_op operation, char*& array) {
    XDR xdr;
    xdrmem_create(&xdr, sent_.data(), static_cast<u_int>(sent_.size()), operation);
    u_int count = kPointers;
    if (!xdr_array(&xdr, &array, &count, ~0u, sizeof(rpc::int_pointer),
                   reinterpret_cast<xdrproc_t>(rpc::xdr_int_pointer))) {
      fail("rpcgen: no room");
    }
    xdr_destroy(&xdr);
  }

  std::vector<int> pointees_;
  std::vector<int*> pointers_;
  std::vector<char> sent_;
};

// ---- the figure ----

template <typename Round>
Costs median_of(Round&& round) {
  std::vector<double> out, in;
  Costs costs;
  for (int i = 0; i < kRounds; ++i) {
    round(costs);
    if (i < kWarmUp) continue;
    out.push_back(costs.out_ns);
    in.push_back(costs.in_ns);
  }
  costs.out_ns = bench::median(out);
  costs.in_ns = bench::median(in);
  return costs;
}

std::vector<Case> cases() {
  // The same in every run: the second half of the places is as far from the first as any.
  auto shuffled = std::make_shared<std::vector<std::size_t>>(kPointers);
  std::iota(shuffled->begin(), shuffled->end(), 0);
  std::shuffle(shuffled->begin(), shuffled->end(), std::mt19937(1));
  const auto scattered = [shuffled](std::size_t i) { return Place{(*shuffled)[i], 0}; };
  const auto one = [](std::size_t) { return Place{}; };
  const auto in_order = [](std::size_t i) { return Place{0, i}; };
  const auto each_its_own = [](std::size_t i) { return Place{i, 0}; };
  std::vector<Case> all = {
      {"int 1", {Where::own, IW_int, 1, 1}, one, 0},
      {"struct 1",
       {Where::own, IW_ints_32, 1, kRecords},
       [](std::size_t i) {
         return Place{0, 16 + i % kRecords * 32};
       },
       0},
  };
  for (const std::size_t blocks : {1, 16, 64, 1024, 4096, 16384, 65536}) {
    all.push_back({"cross #" + std::to_string(blocks),
                   {Where::other, IW_int, blocks, 1},
                   [=](std::size_t i) {
                     return Place{(*shuffled)[i] % blocks, 0};
                   },
                   blocks == kPointers ? 5.0 : 0.0});
  }
  all.push_back({"in order, one block", {Where::own, IW_int, 1, kPointers}, in_order, 300});
  all.push_back({"in order, own blocks", {Where::own, IW_int, kPointers, 1}, each_its_own, 50});
  all.push_back({"random, own segment", {Where::own, IW_int, kPointers, 1}, scattered, 20});
  return all;
}

class Table {
 public:
  Table() {
    std::printf("array of %zu pointers, medians of %d, in million pointers a second\n", kPointers,
                kRounds - kWarmUp);
    std::printf("%-22s %-24s %10s %10s %10s %10s\n", "case", "system", "out", "in", "searches out",
                "searches in");
  }
  void add(const std::string& name, const char* system, const Costs& costs) {
    std::printf("%-22s %-24s %10.1f %10.1f %10llu %10llu\n", name.c_str(), system,
                1e3 / costs.out_ns, 1e3 / costs.in_ns,
                static_cast<unsigned long long>(costs.out_searches),
                static_cast<unsigned long long>(costs.in_searches));
    row(name, system, "swizzle", costs.out_ns, costs.out_searches);
    row(name, system, "unswizzle", costs.in_ns, costs.in_searches);
  }
  void finish() { csv_.finish(); }

 private:
  void row(const std::string& name, const char* system, const char* operation, double ns,
           std::uint64_t searches) {
    csv_.row(bench::format("\"%s\",%s,%s,%zu,%.2f,%.2f,%llu", name.c_str(), system, operation,
                           kPointers, ns, 1e3 / ns, static_cast<unsigned long long>(searches)));
  }
  bench::Csv csv_{"swizzle.csv",
                  "case,system,operation,pointers,ns_per_pointer,million_per_s,searches"};
};

}  // namespace

int main() {
  Table table;
  std::string verdict;
  for (const Case& one : cases()) {
    for (const bool predicts : {true, false}) {
      Pair pair(one, predicts);
      const Costs costs = median_of([&](Costs& round) { pair.round(round); });
      table.add(one.name, predicts ? "interweave" : "interweave-no-prediction", costs);
      if (!predicts || one.target_million_per_s == 0) continue;
      const double least = std::min(1e3 / costs.out_ns, 1e3 / costs.in_ns);
      verdict += bench::format("%s%s: %.1f (target: %.0f)", verdict.empty() ? "" : "; ",
                               one.name.c_str(), least, one.target_million_per_s);
    }
  }
  RpcgenCopy rpcgen;
  table.add("deep copy", "rpcgen", median_of([&](Costs& round) { rpcgen.round(round); }));
  std::printf("verdict: the slower direction, million pointers a second: %s\n", verdict.c_str());
  table.finish();
  return 0;
}
