// A table of two levels: 4 GiB of address space a leaf, a granule a place; memory is taken only for
// the parts that are used. Leaves are never freed.
#include "memory/address_map.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "memory/anchors.h"
#include "memory/heap_state.h"
#include "platform/process.h"

namespace iw::memory {

namespace {

constexpr unsigned granule_bits = 16;
constexpr unsigned leaf_bits = 32;  // of the address
static_assert(kGranuleBytes == std::size_t{1} << granule_bits);
constexpr std::size_t leaf_places = std::size_t{1} << (leaf_bits - granule_bits);
constexpr std::size_t root_places = std::size_t{1} << 16;  // 48 bits

// Machines with wider addresses: leaves that differ only above bit 48 are a chain.
struct Leaf {
  platform::Mapping memory;  // its own, never given back
  std::uint64_t number;
  Leaf* following;
  std::atomic<MapEntry*> places[leaf_places];
};
std::array<std::atomic<Leaf*>, root_places> root{};

std::uint64_t number_of(const void* address) {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address));
}

std::atomic<MapEntry*>* place_of(std::uint64_t address) noexcept {
  const std::uint64_t number = address >> leaf_bits;
  Leaf* leaf = root[number % root_places].load(std::memory_order_acquire);
  while (leaf != nullptr && leaf->number != number) leaf = leaf->following;
  return leaf == nullptr ? nullptr : &leaf->places[(address >> granule_bits) % leaf_places];
}

// The pool of entries and anchors, which are used again and never freed. A forked child begins with
// an empty pool, because the parent's may have been in the middle of a change.
struct Pool {
  unsigned made_in_fork = platform::fork_count();
  Gate gate;
  HeapAnchor* anchors = nullptr;  // each leads to the next one
  MapEntry* entries = nullptr;
};
std::atomic<Pool*> current_pool{nullptr};

Pool& pool() {
  Pool* now = current_pool.load(std::memory_order_acquire);
  while (now == nullptr || now->made_in_fork != platform::fork_count()) {
    auto next = std::make_unique<Pool>();
    if (current_pool.compare_exchange_strong(now, next.get())) return *next.release();
  }
  return *now;
}

template <typename T>
T* take(T* Pool::*list) {
  Pool& from = pool();
  {
    std::lock_guard lock(from.gate);
    if (T* const taken = from.*list; taken != nullptr) {
      from.*list = taken->next_unused;
      return taken;
    }
  }
  return new T;
}

// Without memory for a pool, in a forked child, the object is not used again.
template <typename T>
void give_back_to(T* Pool::*list, T* object) noexcept {
  try {
    Pool& to = pool();
    std::lock_guard lock(to.gate);
    object->next_unused = to.*list;
    to.*list = object;
  } catch (const std::bad_alloc&) {
  }
}

bool make_leaf(std::uint64_t number) {
  Pool& guarding = pool();
  std::lock_guard lock(guarding.gate);
  if (place_of(number << leaf_bits) != nullptr) return true;
  platform::Mapping memory;
  const std::size_t size = platform::round_up_to_page(sizeof(Leaf));
  if (!platform::reserve(size, nullptr, platform::Placement::if_free, memory) ||
      !platform::protect(memory.begin(), size, platform::Protection::read_write)) {
    return false;
  }
  // Fresh memory is all zeros, which is what empty places are.
  auto* leaf = reinterpret_cast<Leaf*>(memory.begin());
  new (&leaf->memory) platform::Mapping(std::move(memory));
  leaf->number = number;
  leaf->following = root[number % root_places].load(std::memory_order_relaxed);
  root[number % root_places].store(leaf, std::memory_order_release);
  return true;
}

// Left at the end of the scope, also if memory ends in it.
class EnteredGate {
 public:
  explicit EnteredGate(Gate& gate) noexcept : gate_(gate) {}
  ~EnteredGate() { gate_.leave(); }
  EnteredGate(const EnteredGate&) = delete;
  EnteredGate& operator=(const EnteredGate&) = delete;

 private:
  Gate& gate_;
};

// Follows the map to a heap and calls f(HeapState&, Subsegment&) inside its gate. `enter` gives
// false if it does not want to wait.
template <typename Enter, typename F>
bool with_subsegment(const void* address, Enter enter, F f) {
  std::atomic<MapEntry*>* place = place_of(number_of(address));
  if (place == nullptr) return false;
  for (;;) {
    MapEntry* entry = place->load(std::memory_order_acquire);
    HeapAnchor* anchor = entry == nullptr ? nullptr : entry->anchor.load(std::memory_order_acquire);
    if (anchor == nullptr ||
        anchor->made_in_fork.load(std::memory_order_relaxed) != platform::fork_count()) {
      return false;
    }
    if (!enter(anchor->gate)) return false;
    const EnteredGate inside(anchor->gate);
    const bool still_there = place->load(std::memory_order_acquire) == entry &&
                             entry->anchor.load(std::memory_order_acquire) == anchor;
    if (still_there) {
      return f(*anchor->heap.load(std::memory_order_relaxed),
               *entry->subsegment.load(std::memory_order_relaxed));
    }
  }
}

bool fill(const HeapState& heap, const Subsegment& subsegment, const void* address,
          FoundBlock& out) noexcept {
  const auto* at = static_cast<const std::byte*>(address);
  if (!heap.block_at(subsegment, at, out.block)) return false;
  out.heap_number = heap.number;
  out.offset_bytes = static_cast<std::size_t>(at - out.block.address);
  return true;
}

// Where the extents begin that hold the first addresses of a row; as many as lie in this heap.
struct Starts {
  std::array<const std::byte*, kFoundTogether> at;
  std::size_t count = 0;
};
Starts starts_of(const HeapState& heap, const Subsegment& first,
                 std::span<const void* const> addresses) {
  Starts starts;
  const Subsegment* here = &first;
  for (const void* const address : addresses.first(std::min(addresses.size(), kFoundTogether))) {
    const auto* const at = static_cast<const std::byte*>(address);
    if (at < here->begin() || at >= here->end()) {
      here = subsegment_at(*heap.anchor, address);
      if (here == nullptr) break;
    }
    starts.at[starts.count++] = here->start_at_or_before(at);
  }
  return starts;
}

// Finds the first blocks of the row and returns how many addresses it looked up. The block that was
// just found is tried first, because it is mostly pointed at again.
std::size_t find_in(const HeapState& heap, const Subsegment& first,
                    std::span<const void* const> addresses, Trail& trail, FoundBlock* out) {
  const Starts starts = starts_of(heap, first, addresses);
  if (!trail.is_followed && starts.count > 1) {
    std::array<std::uint64_t, kFoundTogether> keys;
    for (std::size_t i = 0; i < starts.count; ++i) keys[i] = number_of(starts.at[i]);
    heap.index.fetch_addresses(std::span(keys.data(), starts.count));
  }
  for (std::size_t i = 0; i < starts.count; ++i) {
    const auto* const at = static_cast<const std::byte*>(addresses[i]);
    const bool is_same = trail.predicts && i != 0 && starts.at[i] == starts.at[i - 1] &&
                         out[i - 1].block.serial != 0;
    if (is_same && out[i - 1].block.covers(at)) {
      trail.follow();
      out[i].block = out[i - 1].block;
    } else if (starts.at[i] == nullptr || !heap.block_from(starts.at[i], at, trail, out[i].block)) {
      out[i].block.serial = 0;  // of one that ends before the address, perhaps
      continue;
    }
    out[i].heap_number = heap.number;
    out[i].offset_bytes = static_cast<std::size_t>(at - out[i].block.address);
  }
  return starts.count;
}

bool wait_to_enter(Gate& gate) {
  gate.enter();
  return true;
}

}  // namespace

bool find_block(const void* address, FoundBlock& out) {
  return with_subsegment(address, wait_to_enter, [&](HeapState& heap, Subsegment& subsegment) {
    return fill(heap, subsegment, address, out);
  });
}

void find_blocks(std::span<const void* const> addresses, Trail& trail, FoundBlock* out) {
  for (std::size_t i = 0; i < addresses.size();) {
    std::size_t looked_for = 0;
    with_subsegment(addresses[i], wait_to_enter, [&](HeapState& heap, Subsegment& first) {
      looked_for = find_in(heap, first, addresses.subspan(i), trail, out + i);
      return true;
    });
    if (looked_for == 0) out[i++].block.serial = 0;
    i += looked_for;
  }
}

bool try_find_block(const void* address, FoundBlock& out) noexcept {
  return with_subsegment(
      address, [](Gate& gate) { return gate.try_enter(); },
      [&](HeapState& heap, Subsegment& subsegment) {
        return fill(heap, subsegment, address, out);
      });
}

bool find_segment(const void* address, types::Url& out) {
  return with_subsegment(address, wait_to_enter, [&](HeapState& heap, Subsegment&) {
    out = heap.options.url;
    return true;
  });
}

HeapAnchor* take_anchor() { return take(&Pool::anchors); }
MapEntry* take_entry() { return take(&Pool::entries); }
void give_back(HeapAnchor* anchor) noexcept { give_back_to(&Pool::anchors, anchor); }
void give_back(MapEntry* entry) noexcept { give_back_to(&Pool::entries, entry); }

bool enter_in_map(Subsegment& subsegment, HeapAnchor& anchor) {
  const std::uint64_t begin = number_of(subsegment.begin());
  const std::uint64_t end = begin + subsegment.size_bytes();
  for (std::uint64_t at = begin >> leaf_bits; at <= (end - 1) >> leaf_bits; ++at) {
    if (!make_leaf(at)) return false;
  }
  subsegment.map_entry->subsegment.store(&subsegment, std::memory_order_relaxed);
  subsegment.map_entry->anchor.store(&anchor, std::memory_order_release);
  for (std::uint64_t at = begin; at < end; at += kGranuleBytes) {
    place_of(at)->store(subsegment.map_entry, std::memory_order_release);
  }
  return true;
}

void remove_from_map(Subsegment& subsegment) {
  const std::uint64_t begin = number_of(subsegment.begin());
  for (std::uint64_t at = begin; at < begin + subsegment.size_bytes(); at += kGranuleBytes) {
    place_of(at)->store(nullptr, std::memory_order_release);
  }
  subsegment.map_entry->anchor.store(nullptr, std::memory_order_release);
  subsegment.map_entry->subsegment.store(nullptr, std::memory_order_relaxed);
}

Subsegment* subsegment_at(const HeapAnchor& anchor, const void* address) noexcept {
  const std::atomic<MapEntry*>* place = place_of(number_of(address));
  MapEntry* entry = place == nullptr ? nullptr : place->load(std::memory_order_acquire);
  if (entry == nullptr || entry->anchor.load(std::memory_order_acquire) != &anchor) return nullptr;
  return entry->subsegment.load(std::memory_order_relaxed);
}

}  // namespace iw::memory
