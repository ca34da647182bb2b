#include "copy/owned_settlement.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_set>

#include "copy/owned_cycles.h"
#include "copy/owned_fields.h"
#include "memory/subsegment.h"
#include "types/navigation.h"

namespace iw::copy {

using memory::Block;
using protocol::error_code;
using types::Type;

namespace {

// Whether a value of `from`, with all that its fields own, may have a value of `to` in it.
bool may_own(const Type& from, const Type& to, std::unordered_set<const Type*>& seen) {
  if (!from.contains_pointers || from.kind == types::Kind::pointer) return false;
  if (!seen.insert(&from).second) return false;
  const auto leads = [&](const Type* inner) {
    return inner != nullptr && (types::same_type(*inner, to) || may_own(*inner, to, seen));
  };
  return leads(from.element) ||
         std::any_of(from.fields.begin(), from.fields.end(),
                     [&](const types::Field& field) { return leads(field.type); }) ||
         std::any_of(from.arms.begin(), from.arms.end(),
                     [&](const types::Arm& arm) { return leads(arm.type); });
}

template <typename Visit>
bool for_each_owned_of(const Block& block, const std::byte* base, Visit&& visit) {
  const types::Step array = types::array_step(*block.type, block.count);
  return for_each_owned(array, 0, array.end_unit(), base, 0, visit);
}

}  // namespace

Result OwnedSettlement::find(std::span<const memory::SubsegmentRuns> changed) {
  for (const Block& block : heap_.created()) {
    if (!block.is_owned) continue;
    children_[block.serial] = {block, true, false, {}};
    doubtful_.push_back(block.serial);
  }
  heap_.for_each_part(changed, [this](const memory::BlockPart& part) { look_at(part); });
  for (const Block& block : heap_.freed()) look_at_freed(block);
  // The release will be refused; what the union holds is not given up before it is put right.
  if (is_undecidable_) {
    children_.clear();
    return {};
  }
  find_orphans();
  for (const auto& [serial, child] : children_) {
    const std::size_t kept = child.is_lost ? 1 : 0;
    stores_ = stores_ || child.claims.size() > kept || (child.is_orphan && child.block.is_new);
  }
  return check_cycles();
}

// Two parts may touch the same unit.
void OwnedSettlement::look_at(const memory::BlockPart& part) {
  const Block& block = part.block;
  if (block.type != last_type_) {
    last_type_ = block.type;
    last_type_owns_ = has_owned_fields(*block.type);
  }
  if (!last_type_owns_) return;
  if (block.serial != last_serial_) last_end_unit_ = 0;
  last_serial_ = block.serial;
  const types::Step array = types::array_step(*block.type, block.count);
  const types::UnitRange units =
      types::units_covering(array, part.offset_bytes, part.offset_bytes + part.length_bytes);
  const std::uint64_t first = std::max(units.first, last_end_unit_);
  if (first >= units.end) return;
  last_end_unit_ = units.end;
  before_.clear();
  now_.clear();
  (void)for_each_owned(array, first, units.end, part.pristine - part.offset_bytes, 0,
                       [this](std::size_t offset, void* value) {
                         before_.push_back({offset, value});
                       });
  if (!for_each_owned(array, first, units.end, part.view - part.offset_bytes, 0,
                      [this](std::size_t offset, void* value) {
                        now_.push_back({offset, value});
                      })) {
    is_undecidable_ = true;
    return;
  }
  auto old = before_.begin();
  for (const Held& held : now_) {
    for (; old != before_.end() && old->offset_bytes < held.offset_bytes; ++old) lose(old->value);
    if (old != before_.end() && old->offset_bytes == held.offset_bytes) {
      if (old->value == held.value) {
        ++old;
        continue;
      }
      lose(old++->value);
    }
    if (Child* const child = child_of(held.value)) {
      child->claims.push_back({block, block.address + held.offset_bytes});
    }
  }
  for (; old != before_.end(); ++old) lose(old->value);
}

void OwnedSettlement::look_at_freed(const Block& block) {
  if (!has_owned_fields(*block.type)) return;
  (void)for_each_owned_of(block, pristine_of(block),
                          [this](std::size_t, void* value) { lose(value); });
}

// Null: the field leads to no owned block, which the translation will say.
OwnedSettlement::Child* OwnedSettlement::child_of(void* value) {
  Block block;
  if (!heap_.find_at(value, block) || block.address != value || !block.is_owned) return nullptr;
  Child& child = children_[block.serial];
  child.block = block;
  return &child;
}

void OwnedSettlement::lose(void* value) {
  Child* const child = child_of(value);
  if (child == nullptr) return;
  child->is_lost = true;
  doubtful_.push_back(child->block.serial);
}

// A block without stores is the same in the view.
const std::byte* OwnedSettlement::pristine_of(const Block& block) const {
  for (const memory::SubsegmentPages& one : written_) {
    const memory::Subsegment& subsegment = *one.subsegment;
    if (block.address >= subsegment.begin() && block.address < subsegment.end()) {
      return subsegment.area().pristine() + subsegment.offset_of(block.address);
    }
  }
  return block.address;
}

void OwnedSettlement::find_orphans() {
  while (!doubtful_.empty()) {
    Child& child = children_[doubtful_.back()];
    doubtful_.pop_back();
    if (child.is_orphan) continue;
    std::erase_if(child.claims, [this](const Claim& claim) {
      const auto holder = children_.find(claim.holder.serial);
      return holder != children_.end() && holder->second.is_orphan;
    });
    if (child.is_lost && child.claims.empty()) drop(child);
  }
}

// Blocks that the child owned are lost with it. Blocks that its fields lead to may now have no
// owner.
void OwnedSettlement::drop(Child& child) {
  child.is_orphan = true;
  const Block block = child.block;
  if (!has_owned_fields(*block.type)) return;
  if (!block.is_new) look_at_freed(block);
  (void)for_each_owned_of(block, block.address, [this](std::size_t, void* value) {
    if (const Child* const inner = child_of(value)) doubtful_.push_back(inner->block.serial);
  });
}

// A claim is a field that leads to a block; it closes a cycle if the block leads back to the field.
Result OwnedSettlement::check_cycles() const {
  OwnedCycles cycles(heap_);
  const auto each_possible = [this](auto&& visit) -> Result {
    // Mostly it is the same pair of types for all.
    const Type* from = nullptr;
    const Type* to = nullptr;
    bool may = false;
    for (const auto& [serial, child] : children_) {
      for (const Claim& claim : child.claims) {
        if (child.block.type != from || claim.holder.type != to) {
          from = child.block.type;
          to = claim.holder.type;
          std::unordered_set<const Type*> seen;
          may = types::same_type(*from, *to) || may_own(*from, *to, seen);
        }
        if (!may) continue;
        if (Result bad = visit(child.block, claim); !bad) return bad;
      }
    }
    return {};
  };
  (void)each_possible([&cycles](const Block& block, const Claim&) {
    cycles.follow(block);
    return Result{};
  });
  return each_possible([&cycles](const Block& block, const Claim& claim) -> Result {
    const Block& holder = claim.holder;
    if (!cycles.contain_each_other(block.serial, holder.serial)) return {};
    const auto offset = static_cast<std::size_t>(claim.at - holder.address);
    const types::UnitAt at = types::unit_of_byte(*holder.type, holder.count, offset);
    return {error_code::BAD_VALUE,
            "block " + std::to_string(holder.serial) + " (" + holder.type->spelled() + "), unit " +
                std::to_string(at.unit) +
                ": a sequence that would contain itself; give the field a value of its own with "
                "IW_assign"};
  });
}

Result OwnedSettlement::settle(const std::function<Result()>& more_serials) {
  for (const auto& [serial, child] : children_) {
    for (std::size_t i = child.is_lost ? 1 : 0; i < child.claims.size(); ++i) {
      if (Result copied = copy_into(child.claims[i].at, child.block, more_serials); !copied) {
        return copied;
      }
    }
  }
  for (const auto& [serial, child] : children_) {
    if (!child.is_orphan) continue;
    if (Result freed = heap_.free(serial); !freed) return freed;
  }
  return {};
}

// A copy with all that its fields own.
Result OwnedSettlement::copy_into(std::byte* at, const Block& source,
                                  const std::function<Result()>& more_serials) {
  struct Task {
    std::byte* at;
    Block source;
  };
  std::vector<Task> left{{at, source}};
  // More copies than there are blocks: what was received contains itself.
  for (std::uint64_t most = heap_.usage().blocks; !left.empty(); --most) {
    const Task task = left.back();
    left.pop_back();
    if (most == 0) return {error_code::BAD_VALUE, "a sequence contains itself"};
    if (!heap_.has_serials()) {
      if (Result granted = more_serials(); !granted) return granted;
    }
    Block made;
    if (Result bad = heap_.allocate(*task.source.type, task.source.count, "", true, made); !bad) {
      return bad;
    }
    std::memcpy(made.address, task.source.address, made.size_bytes);
    std::memcpy(task.at, &made.address, sizeof made.address);
    if (!has_owned_fields(*made.type)) continue;
    (void)for_each_owned_of(made, made.address, [&](std::size_t offset, void* value) {
      Block inner;
      if (heap_.find_at(value, inner) && inner.address == value && inner.is_owned) {
        left.push_back({made.address + offset, inner});
      }
    });
  }
  return {};
}

}  // namespace iw::copy
