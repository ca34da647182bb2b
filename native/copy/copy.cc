#include "copy/copy.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "memory/subsegment.h"
#include "platform/memory.h"
#include "types/registry.h"

namespace iw::copy {

using protocol::error_code;

namespace {

// Fresh memory of that size costs more, in page faults, than finding what changed.
constexpr std::size_t most_kept_bytes = std::size_t{1} << 20;

constexpr const char* came_back_other = "the server came back with another segment: ";

diff::Options diff_options() { return {.predicts_blocks = optimisations().prediction}; }

// The pages whose stores were noticed. Open pages are listed without a notice.
std::uint64_t page_count(std::span<const memory::SubsegmentPages> pages) {
  std::uint64_t count = 0;
  for (const memory::SubsegmentPages& one : pages) {
    std::uint64_t bytes = 0;
    for (const platform::ByteRange& range : one.pages) bytes += range.size_bytes();
    const std::uint64_t listed = bytes / platform::page_size();
    count += listed - std::min<std::uint64_t>(listed, one.subsegment->area().open_pages());
  }
  return count;
}

// The pages with changed words. Pages that are kept open are listed as well, and are equal.
std::vector<memory::SubsegmentPages> pages_of(std::span<const memory::SubsegmentRuns> changed) {
  const std::size_t page_bytes = platform::page_size();
  std::vector<memory::SubsegmentPages> out;
  for (const memory::SubsegmentRuns& one : changed) {
    memory::SubsegmentPages pages{one.subsegment, {}};
    for (const runs::Run& run : one.runs) {
      const std::size_t begin = run.offset_bytes / page_bytes * page_bytes;
      const std::size_t last = (run.offset_bytes + run.length_bytes - 1) / page_bytes * page_bytes;
      if (!pages.pages.empty() && begin <= pages.pages.back().end_bytes) {
        pages.pages.back().end_bytes = last + page_bytes;
      } else {
        pages.pages.push_back({begin, last + page_bytes});
      }
    }
    out.push_back(std::move(pages));
  }
  return out;
}

// Whether the reason may pass: the server may answer later, or there may be memory again.
bool may_pass(swizzle::StubReason why) {
  return why == swizzle::StubReason::unreachable || why == swizzle::StubReason::no_address_space;
}

}  // namespace

Result Copy::create(const types::Url& url, bool read_only, std::shared_ptr<Copy>& out) {
  memory::HeapOptions options;
  options.url = url;
  options.read_only = read_only;
  std::unique_ptr<memory::Heap> heap;
  if (Result made = memory::Heap::create(options, heap); !made) return made;
  std::shared_ptr<Copy> copy(new Copy(url));
  copy->heap_ = std::move(heap);
  out = std::move(copy);
  return {};
}

// Blocks pointed at in other segments must be known before the translation, which may not wait for
// a server. While they are asked for, others may describe blocks of this copy, too.
Result Copy::apply(std::span<const std::byte> bytes, bool must_hold_blocks,
                   const Describe& describe, swizzle::Resolver& resolver, const diff::Spent& spent,
                   bool& damaged) {
  damaged = false;
  diff::Update update;
  const platform::MutexLock lock(mutex_);
  if (Result read = diff::Update::read(bytes, parts(), {}, update); !read) {
    const bool is_other = must_hold_blocks && read.code == error_code::TYPE_CONFLICT;
    return is_other ? Result{error_code::SEGMENT_LOST, came_back_other + read.text} : read;
  }
  if (must_hold_blocks && update.is_complete()) {
    if (const std::uint64_t serial = update.missing_block(*heap_); serial != 0) {
      return {error_code::SEGMENT_LOST,
              came_back_other + ("block " + std::to_string(serial) + " is not the same in it")};
    }
  }
  UnreachableBlocks unreachable;
  if (!update.foreign_references().empty()) {
    const std::uint64_t before = changes_;
    {
      const platform::MutexUnlock asking(mutex_);
      ask_for_foreign(update, describe, resolver, unreachable);
    }
    if (changes_ != before) {
      if (Result read = diff::Update::read(bytes, parts(), {}, update); !read) return read;
    }
  }
  diff::CachedCopy copy = parts();
  if (update.is_complete()) {
    unreachable_ = std::move(unreachable);
  } else {
    for (const auto& [url, serials] : unreachable.all()) {
      const std::vector<std::uint64_t> row(serials.begin(), serials.end());
      unreachable_.note(url, row);
    }
  }
  has_unreachable_ = !unreachable_.is_empty();
  types_replaced();
  Result applied = types::or_no_memory([&] {
    return update.apply(copy, resolver, swizzle::StubArena::program(), diff_options(), spent);
  });
  damaged = !applied.ok();
  return applied;
}

// As in apply(), others may describe blocks of this copy while servers are asked.
Result Copy::heal(const Describe& describe, swizzle::Resolver& resolver) {
  const platform::MutexLock lock(mutex_);
  const std::vector<UnreachableBlocks::Target> targets = unreachable_.all();
  {
    const platform::MutexUnlock asking(mutex_);
    for (const auto& [url, serials] : targets) describe(url, {serials.begin(), serials.end()});
  }
  std::set<std::string> answered;
  for (const auto& [url, serials] : targets) {
    if (!may_pass(resolver.why_missing(url))) answered.insert(url.text());
  }
  if (answered.empty()) return {};
  Result healed = heal_stubs(*heap_, slots_, resolver, answered);
  if (healed) unreachable_.forget(answered);
  has_unreachable_ = !unreachable_.is_empty();
  return healed;
}

void Copy::ask_for_foreign(const diff::Update& update, const Describe& describe,
                           swizzle::Resolver& resolver, UnreachableBlocks& unreachable) {
  std::map<std::uint16_t, std::vector<std::uint64_t>> missing;
  const swizzle::SlotTable& slots = update.slots() != nullptr ? *update.slots() : slots_;
  for (const diff::ForeignReference& reference : update.foreign_references()) {
    const types::Url* url = slots.url_of(reference.slot);
    if (url == nullptr) continue;
    const memory::Heap* heap = resolver.find(*url);
    memory::Block block;
    if (heap != nullptr && heap->find(reference.serial, block)) continue;
    missing[reference.slot].push_back(reference.serial);
  }
  for (const auto& [slot, serials] : missing) {
    const types::Url& url = *slots.url_of(slot);
    describe(url, serials);
    if (may_pass(resolver.why_missing(url))) {
      unreachable.note(url, serials);
    }
  }
}

Result Copy::describe(std::span<const std::byte> bytes, swizzle::Resolver& resolver) {
  const platform::MutexLock lock(mutex_);
  // A writer works on the newest version, so a description has nothing new.
  if (heap_->is_writing()) return {};
  diff::Update update;
  if (Result read = diff::Update::read(bytes, parts(), {}, update); !read) return read;
  if (!update.is_metadata_only()) return Result::malformed("a description of blocks has data");
  ++changes_;
  diff::CachedCopy copy = parts();
  return update.apply(copy, resolver);
}

// Undoes stray stores even without the memory to list them.
Result Copy::undo_strays(std::vector<Stray>& strays, std::uint64_t& pages) {
  std::vector<memory::SubsegmentPages> changed;
  const Result found = types::or_no_memory([&] { return find_strays(changed, strays, pages); });
  if (found.code == error_code::NO_MEMORY) return heap_->undo_all();
  return found.ok() ? heap_->undo(changed) : found;
}

Result Copy::find_strays(std::vector<memory::SubsegmentPages>& changed_pages,
                         std::vector<Stray>& strays, std::uint64_t& pages) {
  std::vector<memory::SubsegmentPages> written;
  std::vector<memory::SubsegmentRuns> changed;
  if (Result listed = heap_->collect(written); !listed) return listed;
  if (Result found = heap_->changed_runs(written, changed); !found) return found;
  changed_pages = pages_of(changed);
  std::uintptr_t last_page = 0;
  heap_->for_each_part(changed, [&](const memory::BlockPart& part) {
    const std::byte* const address = part.block.address + part.offset_bytes;
    const auto page = reinterpret_cast<std::uintptr_t>(address) / platform::page_size();
    if (page == last_page) return;
    last_page = page;
    ++pages;
    strays.push_back({part.block.serial, heap_->name_of(part.block.serial), address});
  });
  return {};
}

Result Copy::begin_write(const memory::SerialRange& serials) {
  const platform::MutexLock lock(mutex_);
  return heap_->begin_write({&serials, 1});
}

Result Copy::continue_write() {
  const platform::MutexLock lock(mutex_);
  return heap_->continue_write();
}

Result Copy::add_serials(const memory::SerialRange& range) {
  const platform::MutexLock lock(mutex_);
  return heap_->add_serials(range);
}

bool Copy::has_serials() {
  const platform::MutexLock lock(mutex_);
  return heap_->has_serials();
}

Result Copy::find_as(IW_type_t type, std::uint64_t count, std::string_view name, void*& out) {
  const platform::MutexLock lock(mutex_);
  out = nullptr;
  Result why;
  const types::Type* const wanted = types::Registry::program().find(type, why);
  if (wanted == nullptr) return why;
  memory::Block block;
  if (!heap_->find(name, block) || block.is_reserved) return {};
  if (block.type != types_.find(types_.serial_of(*wanted)) || block.count != count) {
    return {error_code::TYPE_CONFLICT,
            "block '" + std::string(name) + "' is " + std::to_string(block.count) + " of " +
                block.type->spelled() + ", and " + std::to_string(count) + " of " +
                wanted->spelled() + " was asked for"};
  }
  out = block.address;
  return {};
}

Result Copy::allocate(IW_type_t type, std::uint64_t count, std::string_view name,
                      std::uint64_t quota_bytes, void*& out) {
  const platform::MutexLock lock(mutex_);
  Result why;
  const types::Type* const registered = types::Registry::program().find(type, why);
  if (registered == nullptr) return why;
  const types::Type* const own = types_.add(*registered, why);
  if (own == nullptr) return why;
  if (quota_bytes > 0 && count > quota_bytes / std::max<std::uint64_t>(own->slot_bytes, 1)) {
    return {error_code::QUOTA, "a block of " + std::to_string(count) + " values of " +
                                   std::to_string(own->slot_bytes) +
                                   " bytes does not fit into the segment: its quota is " +
                                   std::to_string(quota_bytes) +
                                   " bytes; make the segment with a larger quota"};
  }
  memory::Block block;
  if (Result made = heap_->allocate(*own, count, name, false, block); !made) return made;
  out = block.address;
  return {};
}

Result Copy::collect(std::uint64_t from_version, swizzle::Resolver& resolver,
                     const MoreSerials& more_serials, CollectedDiff& out, CollectCosts& costs) {
  const platform::MutexLock lock(mutex_);
  std::vector<memory::SubsegmentPages> written;
  if (Result listed = heap_->collect(written); !listed) return listed;
  costs.pages = page_count(written);
  out.runs = std::exchange(spare_runs_, {});
  Result found = find_changes(*heap_, written, optimisations(), out.runs, costs.looked_at);
  if (!found) return found;
  if (may_have_owned_fields()) {
    if (Result assigned = assign_owners(more_serials, written, out.runs); !assigned) {
      return assigned;
    }
  }
  Result collected = translate(from_version, resolver, out);
  // The pointer that leads nowhere may be one that nobody stored to, between two that were
  // [DIFF-9], or in an area that was not compared.
  if (collected.code == error_code::BAD_POINTER) {
    found = heap_->changed_runs(written, out.runs, runs::Splicing::off);
    if (!found) return found;
    collected = translate(from_version, resolver, out);
  }
  return collected;
}

bool Copy::has_changes() {
  const platform::MutexLock lock(mutex_);
  if (!heap_->created().empty() || !heap_->freed().empty()) return true;
  std::vector<memory::SubsegmentPages> written;
  std::vector<memory::SubsegmentRuns> changed;
  if (!heap_->collect(written) || !heap_->changed_runs(written, changed)) return true;
  return !changed.empty();
}

Result Copy::translate(std::uint64_t from_version, swizzle::Resolver& resolver,
                       CollectedDiff& out) {
  swizzle::Swizzler swizzler(*heap_, slots_, resolver);
  const diff::Release release{*heap_,       types_,   slots_, swizzler,
                              from_version, out.runs, true,   diff_options()};
  out.outgoing = {};
  Result collected = types::or_no_memory([&] { return diff::collect(release, out.outgoing); });
  if (!collected) slots_.rollback();
  return collected;
}

Result Copy::resume() {
  const platform::MutexLock lock(mutex_);
  return heap_->resume_write();
}

Result Copy::commit(CollectedDiff& diff) {
  const platform::MutexLock lock(mutex_);
  types_.commit();
  slots_.commit();
  const Result committed = heap_->commit_write(diff.runs);
  std::size_t bytes = 0;
  for (const memory::SubsegmentRuns& one : diff.runs)
    bytes += one.runs.capacity() * sizeof one.runs[0];
  if (bytes <= most_kept_bytes) spare_runs_ = std::move(diff.runs);
  return committed;
}

Result Copy::roll_back() {
  const platform::MutexLock lock(mutex_);
  const Result rolled_back = heap_->rollback_write();
  types_.rollback();
  types_replaced();
  slots_.rollback();
  return rolled_back;
}

}  // namespace iw::copy
