// rpc-caller: calls that carry a MIP, beside calls that carry the parts.
#include <cstdio>
#include <exception>
#include <string>

#include "caller/callee.h"
#include "caller/measured.h"
#include "caller/options.h"
#include "caller/stock_segment.h"

namespace {

using namespace stock;

void say(const receipt& done) {
  std::printf("%u parts visited, %u ordered for %.2f\n", done.visited, done.ordered, done.cost);
}

void plant(const Options& options, StockSegment& stock) {
  iw::WriteLock lock(stock.segment());
  stock.plant(options.count);
  lock.release();
  std::printf("%zu parts; the root is %s\n", options.count, stock.root_mip().c_str());
}

void show(const StockSegment& stock) {
  stock.each([](const part& one) {
    std::printf("%d %d %.2f %s\n", one.number, one.in_stock, one.price, one.name);
  });
}

// Around the call are a copying out and a copying in, which the callee's changes in place spare.
void restock_by_copy(const Options& options, StockSegment& stock) {
  const auto callee = connect(options.callee);
  iw::WriteLock lock(stock.segment());
  PartCopy parts = stock.copied();
  say(callee->restock_copy(parts, options.order));
  stock.take_over(*parts);
  lock.release();
}

void compare(const Options& options, StockSegment& stock) {
  const auto callee = connect(options.callee);
  std::size_t parts = 0;
  stock.each([&](const part&) { ++parts; });
  ByReference by_reference(stock, *callee);
  ByCopy by_copy(*callee, planted_copy(parts));
  std::printf("%zu parts\n%5s %14s %10s %14s %10s\n", parts, "call", "reference: B", "us",
              "copy: B", "us");
  for (std::size_t call = 1; call <= options.count; ++call) {
    const Cost reference = by_reference.call(parts, call);
    const Cost copy = by_copy.call(parts, call);
    std::printf("%5zu %14llu %10.0f %14llu %10.0f\n", call,
                static_cast<unsigned long long>(reference.bytes), reference.us,
                static_cast<unsigned long long>(copy.bytes), copy.us);
  }
}

void obey(const Options& options) {
  StockSegment stock(options.url);
  switch (options.command) {
    case Options::Command::kPlant:
      return plant(options, stock);
    case Options::Command::kShow:
      return show(stock);
    case Options::Command::kRestock:
      if (options.by_copy) return restock_by_copy(options, stock);
      return say(
          connect(options.callee)
              ->restock(options.root.empty() ? stock.root_mip() : options.root, options.order));
    case Options::Command::kIntroduce: {
      const std::string root = stock.root_mip();
      connect(options.callee)->introduce(root, options.number, options.price, options.name);
      std::printf("part %d is in the tree\n", options.number);
      return;
    }
    case Options::Command::kCompare:
      return compare(options, stock);
  }
}

}  // namespace

int main(int argc, char** argv) {
  stock::Options options;
  if (const int status = read_options(argc, argv, options); status != 0) return status == 1 ? 0 : 2;
  try {
    obey(options);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "rpc-caller: %s\n", failure.what());
    return 1;
  }
  return 0;
}
