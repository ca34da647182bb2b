// Writes releases of clients to files, with which the server is measured (main.rs): those of
// Figures 4 and 5 of ICDCS'03, and a release of many blocks for the optimisations of its
// section 3.3.
//   bench_server_releases DIR
// Writes DIR/cases, a line `FIGURE NAME` for each case, and for each DIR/FIGURE-NAME.0 .1 .2: the
// diff from version 0 to 1, which brings the types and all blocks, and those to 2 and to 3, which
// change to the other values and back. So .1 and .2 can be released in turns for ever.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "diff/collect.h"
#include "memory/heap.h"
#include "swizzle/swizzler.h"
#include "translate/source.h"
#include "types/registry.h"
#include "types/segment_types.h"

namespace {

using namespace iw;

constexpr std::size_t kInts = 262144;
constexpr std::size_t kRatioMax = 16384;
constexpr std::size_t kBlocks = 65536;

void require(const types::Result& result) {
  if (result.ok()) return;
  std::fprintf(stderr, "server_costs: %s\n", result.text.c_str());
  std::exit(1);
}

types::Url url_of_segment() {
  types::Url url;
  require(types::parse_url("localhost/server_costs", url));
  return url;
}

class NoOtherSegments final : public swizzle::Resolver {
  memory::Heap* find(const types::Url&) override { return nullptr; }
};

// A cached copy whose releases go to files.
class Writer {
 public:
  Writer(std::string directory, const std::string& figure, const std::string& name)
      : path_(directory + "/" + figure + "-" + name),
        types_(types::Registry::program()),
        slots_(url_of_segment()) {
    std::ofstream(directory + "/cases", std::ios::app) << figure << " " << name << "\n";
    memory::HeapOptions options;
    options.url = url_of_segment();
    options.reservation_bytes = 0;
    require(memory::Heap::create(options, heap_));
  }

  void begin() {
    const memory::SerialRange serials{1, kBlocks};
    const std::span<const memory::SerialRange> first(&serials, 1);
    require(heap_->begin_write(version_ == 0 ? first : std::span<const memory::SerialRange>{}));
  }

  std::byte* allocate(const types::Type& type, std::uint64_t count) {
    types::Result why;
    const types::Type* const here = types_.add(type, why);
    require(why);
    memory::Block block;
    require(heap_->allocate(*here, count, {}, false, block));
    return block.address;
  }

  void release() {
    std::vector<memory::SubsegmentPages> pages;
    std::vector<memory::SubsegmentRuns> runs;
    require(heap_->collect(pages));
    require(heap_->changed_runs(pages, runs));
    swizzle::Swizzler swizzler(*heap_, slots_, resolver_);
    diff::CollectedDiff outgoing;
    require(diff::collect({*heap_, types_, slots_, swizzler, version_, runs}, outgoing));
    const std::vector<std::byte> bytes = outgoing.flattened();
    std::ofstream file(path_ + "." + std::to_string(version_), std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) {
      std::fprintf(stderr, "server_costs: %s cannot be written\n", path_.c_str());
      std::exit(1);
    }
    require(heap_->commit_write(runs));
    types_.commit();
    slots_.commit();
    ++version_;
  }

 private:
  std::string path_;
  std::unique_ptr<memory::Heap> heap_;
  types::SegmentTypes types_;
  swizzle::SlotTable slots_;
  NoOtherSegments resolver_;
  std::uint64_t version_ = 0;
};

const types::Type& type_of(bench::Shape shape) {
  const IW_type_t tables[] = {IW_int,    IW_double,      IW_ints_32,    IW_doubles_32, IW_text_256,
                              IW_text_4, IW_int_pointer, IW_int_double, IW_mixed};
  types::Result why;
  const types::Type* const type =
      types::Registry::program().find(tables[static_cast<std::size_t>(shape)], why);
  require(why);
  return *type;
}

// Figure 4: all of the shape changes, its pointers lead to another array of ints.
void write_shape(const std::string& directory, bench::Shape shape) {
  const bench::Source sources[] = {{shape, bench::Turn::one}, {shape, bench::Turn::other}};
  Writer writer(directory, "4", bench::shape_name(shape));
  writer.begin();
  std::byte* const array = writer.allocate(type_of(shape), bench::element_count(shape));
  int* pointees[2] = {};
  for (int turn = 0; turn < 2 && bench::pointee_count(shape) != 0; ++turn) {
    const std::vector<int>& values = sources[turn].pointees();
    const types::Type& type = types::primitive_type(types::Primitive::int32);
    pointees[turn] = reinterpret_cast<int*>(writer.allocate(type, values.size()));
    std::copy(values.begin(), values.end(), pointees[turn]);
  }
  sources[0].store(array, pointees[0]);
  writer.release();
  for (const int turn : {1, 0}) {
    writer.begin();
    sources[turn].store(array, pointees[turn]);
    writer.release();
  }
}

// Figure 5: one word in `ratio` of an int array changes.
void write_ratio(const std::string& directory, std::size_t ratio) {
  Writer writer(directory, "5", std::to_string(ratio));
  writer.begin();
  const types::Type& type = types::primitive_type(types::Primitive::int32);
  int* const words = reinterpret_cast<int*>(writer.allocate(type, kInts));
  std::fill_n(words, kInts, 1);
  writer.release();
  for (const int value : {2, 1}) {
    writer.begin();
    for (std::size_t i = 0; i < kInts; i += ratio) words[i] = value;
    writer.release();
  }
}

// Section 3.3: one word changes in each of many blocks.
void write_blocks(const std::string& directory) {
  Writer writer(directory, "3.3", "blocks");
  writer.begin();
  const types::Type& type = types::primitive_type(types::Primitive::int32);
  std::vector<int*> blocks(kBlocks);
  for (int*& block : blocks) {
    block = reinterpret_cast<int*>(writer.allocate(type, 16));
    std::fill_n(block, 16, 1);
  }
  writer.release();
  for (const int value : {2, 1}) {
    writer.begin();
    for (int* const block : blocks) block[5] = value;
    writer.release();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "bench_server_releases DIR\n");
    return 1;
  }
  for (const bench::Shape shape : bench::kShapes) write_shape(argv[1], shape);
  for (std::size_t ratio = 1; ratio <= kRatioMax; ratio *= 2) write_ratio(argv[1], ratio);
  write_blocks(argv[1]);
  return 0;
}
