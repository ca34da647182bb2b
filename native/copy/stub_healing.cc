#include "copy/stub_healing.h"

#include <cstring>

#include "swizzle/stub_arena.h"
#include "types/plan.h"

namespace iw::copy {

using protocol::error_code;
using types::Result;
using types::UnitKind;

void UnreachableBlocks::note(const types::Url& url, std::span<const std::uint64_t> serials) {
  Target& target = targets_[url.text()];
  target.url = url;
  target.serials.insert(serials.begin(), serials.end());
}

std::vector<UnreachableBlocks::Target> UnreachableBlocks::all() const {
  std::vector<Target> all;
  for (const auto& [text, target] : targets_) all.push_back(target);
  return all;
}

namespace {

class Healer {
 public:
  Healer(memory::Heap& heap, swizzle::SlotTable& slots, swizzle::Resolver& resolver,
         const std::set<std::string>& segments)
      : heap_(heap), swizzler_(heap, slots, resolver), segments_(segments) {}

  Result run() {
    Result walked = types::or_no_memory([this] { return walk_all(); });
    Result done = heap_.apply_done();
    return walked ? done : walked;
  }

 private:
  Result walk_all() {
    memory::Block block;
    for (std::uint64_t at = 0; heap_.next_by_serial(at, block); at = block.serial) {
      if (block.is_reserved || !block.type->contains_pointers) continue;
      block_ = block;
      walk(types::array_step(*block.type, block.count), 0);
      if (!result_) break;
    }
    return result_;
  }

  // The pointers of an array that lies so far into the block.
  void walk(const types::Step& array, std::size_t base_bytes) {
    (void)types::for_each_row(array, 0, array.end_unit(), [&](const types::UnitRow& row) {
      if (row.kind != UnitKind::pointer && row.kind != UnitKind::choice) return true;
      for (std::uint64_t i = 0; i < row.count && result_.ok(); ++i) {
        const std::size_t offset =
            base_bytes + row.offset_bytes + static_cast<std::size_t>(i) * row.stride_bytes;
        if (row.kind == UnitKind::pointer) {
          heal(*row.type, offset);
        } else {
          walk_arm(*row.type, offset);
        }
      }
      return result_.ok();
    });
  }

  void walk_arm(const types::Type& choice, std::size_t offset) {
    std::int32_t discriminant = 0;
    std::memcpy(&discriminant, block_.address + offset, sizeof discriminant);
    const types::Arm* const arm = choice.arm_for(discriminant);
    if (arm == nullptr || arm->type == nullptr || !arm->type->contains_pointers) return;
    walk(types::array_step(*arm->type, 1), offset + arm->offset_bytes);
  }

  void heal(const types::Type& pointer, std::size_t offset) {
    const void* value = nullptr;
    std::memcpy(&value, block_.address + offset, sizeof value);
    swizzle::StubTarget stub;
    if (value == nullptr || !swizzle::StubArena::program().find(value, stub)) return;
    if (segments_.count(stub.url.text()) == 0) return;
    swizzle::WirePointer wire;
    void* address = nullptr;
    result_ = swizzler_.to_wire(value, pointer.target, wire);
    if (result_.ok()) result_ = swizzler_.from_wire(wire, pointer.target, address);
    if (!result_.ok() || address == value) return;
    std::byte* const to = heap_.begin_apply(block_, offset, sizeof address);
    if (to == nullptr) {
      result_ = Result::no_memory();
      return;
    }
    std::memcpy(to, &address, sizeof address);
  }

  memory::Heap& heap_;
  swizzle::Swizzler swizzler_;
  const std::set<std::string>& segments_;
  memory::Block block_;
  Result result_;
};

}  // namespace

Result heal_stubs(memory::Heap& heap, swizzle::SlotTable& slots, swizzle::Resolver& resolver,
                  const std::set<std::string>& segments) {
  return Healer(heap, slots, resolver, segments).run();
}

}  // namespace iw::copy
