// Gives every owned block one owner at a release [COPY-4]. Between releases an application may
// break this rule by plain stores: it assigns a struct (two fields lead to one block), clears a
// field, switches a union's arm, or frees a struct. A settlement examines the changes of one writer
// section and repairs them. A field that took another field's block gets a copy. A block that no
// field leads to is freed.
//
// A table of owners is not needed, because the pristine copy says who owned what. A block that
// existed before belongs to its old field, unless that field was changed or freed in this section.
// A block of this section belongs to the first field that leads to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "memory/heap.h"
#include "types/result.h"

namespace iw::copy {

using types::Result;

class OwnedSettlement {
 public:
  // `written` as Heap::collect() has just listed it.
  OwnedSettlement(memory::Heap& heap, std::span<const memory::SubsegmentPages> written)
      : heap_(heap), written_(written) {}

  // Decides. BAD_VALUE: a sequence would contain itself. Nothing is changed yet.
  Result find(std::span<const memory::SubsegmentRuns> changed);

  // Whether settle() will store to blocks, which must then be allowed (and collected again).
  [[nodiscard]] bool stores() const { return stores_; }

  // `more_serials` is called when the section has none left for the copies.
  Result settle(const std::function<Result()>& more_serials);

 private:
  // A field, changed in this section, that leads to an owned block.
  struct Claim {
    memory::Block holder;  // that the field lies in
    std::byte* at;         // of the pointer in the view
  };
  // An owned block whose owner may have changed.
  struct Child {
    memory::Block block;
    bool is_lost = false;  // its old field no longer leads to it, or it is new
    bool is_orphan = false;
    std::vector<Claim> claims;
  };
  struct Held {
    std::size_t offset_bytes;
    void* value;
  };

  void look_at(const memory::BlockPart& part);
  void look_at_freed(const memory::Block& block);
  Child* child_of(void* value);
  void lose(void* value);
  [[nodiscard]] const std::byte* pristine_of(const memory::Block& block) const;
  void find_orphans();
  void drop(Child& child);
  Result check_cycles() const;
  Result copy_into(std::byte* at, const memory::Block& source,
                   const std::function<Result()>& more_serials);

  memory::Heap& heap_;
  std::span<const memory::SubsegmentPages> written_;
  std::unordered_map<std::uint64_t, Child> children_;  // by serial
  std::vector<std::uint64_t> doubtful_;                // children to be looked at for orphans
  bool stores_ = false;
  bool is_undecidable_ = false;  // a union's discriminant is wrong: the release will fail

  // The block that look_at() was last called for, and what it needs of it.
  const types::Type* last_type_ = nullptr;
  bool last_type_owns_ = false;
  std::uint64_t last_serial_ = 0;
  std::uint64_t last_end_unit_ = 0;
  std::vector<Held> before_;
  std::vector<Held> now_;
};

}  // namespace iw::copy
