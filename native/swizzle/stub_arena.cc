#include "swizzle/stub_arena.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstring>
#include <deque>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>

#include "memory/hash_index.h"
#include "platform/fault.h"
#include "platform/memory.h"
#include "platform/mutex.h"
#include "platform/process.h"

namespace iw::swizzle {

namespace {

using types::error_code;

constexpr std::size_t chunk_records = 1024;
constexpr std::size_t smallest_arena = 64;

std::string_view why(StubReason reason) noexcept {
  switch (reason) {
    case StubReason::not_mapped:
      return "the block has no place in this process; open its segment, or lock it to fetch it";
    case StubReason::unreachable:
      return "the segment's server could not be reached when the pointer arrived";
    case StubReason::no_segment:
      return "the server has no such segment, or does not let this program read it";
    case StubReason::no_block:
      return "the segment has no such block; perhaps the block was freed";
    case StubReason::beyond_end:
      return "the pointer leads past the end of its block";
    case StubReason::wrong_type:
      return "the value there does not have the pointer's type";
    case StubReason::no_address_space:
      return "no address space was left for the block";
  }
  return "";
}

}  // namespace

// Stubs are appended and never change (their reasons aside), and `count` is stored after the stub:
// finding one, also in the fault handler, needs no lock.
struct StubArena::State {
  struct Segment {
    types::Url url;
    std::string text;
  };

  struct Stub {
    const Segment* segment;
    std::uint64_t serial;
    std::uint64_t unit;
    std::atomic<StubReason> reason;
  };

  std::size_t stride_bytes = platform::page_size();
  unsigned made_in_fork = platform::fork_count();

  platform::Mutex mutex;
  std::size_t limit IW_GUARDED_BY(mutex) = 0;
  platform::Mapping addresses IW_GUARDED_BY(mutex);
  platform::FaultWatch watch IW_GUARDED_BY(mutex);
  std::deque<Segment> segments IW_GUARDED_BY(mutex);
  std::unordered_map<std::string_view, const Segment*> segment_of_text IW_GUARDED_BY(mutex);
  memory::HashIndex by_place IW_GUARDED_BY(mutex);

  std::atomic<std::byte*> first{nullptr};
  std::atomic<std::size_t> count{0};
  std::array<std::atomic<Stub*>, kMaxStubs / chunk_records> chunks{};

  ~State() {
    watch.stop();
    for (auto& chunk : chunks) delete[] chunk.load();
  }

  [[nodiscard]] Stub& at(std::size_t index) const noexcept {
    return chunks[index / chunk_records].load(std::memory_order_relaxed)[index % chunk_records];
  }
  [[nodiscard]] std::byte* address_of(std::size_t index) const IW_REQUIRES(mutex) {
    return addresses.begin() + index * stride_bytes;
  }
  // The stub on whose page the address is; null: none.
  [[nodiscard]] const Stub* on_page(const void* address, bool& is_first_byte) const noexcept {
    const std::size_t made = count.load(std::memory_order_acquire);
    const std::byte* begin = first.load(std::memory_order_relaxed);
    const auto* asked = static_cast<const std::byte*>(address);
    if (made == 0 || asked < begin || asked >= begin + made * stride_bytes) return nullptr;
    const auto offset = static_cast<std::size_t>(asked - begin);
    is_first_byte = offset % stride_bytes == 0;
    return &at(offset / stride_bytes);
  }

  static std::uint64_t hash_of(const Segment* segment, std::uint64_t serial, std::uint64_t unit);
  const Segment* segment_for(const types::Url& url) IW_REQUIRES(mutex);
  Result open() IW_REQUIRES(mutex);
  Stub* append() IW_REQUIRES(mutex);
  static bool report(void* context, std::byte* address, platform::FaultAccess access) noexcept;
};

std::uint64_t StubArena::State::hash_of(const Segment* segment, std::uint64_t serial,
                                        std::uint64_t unit) {
  std::uint64_t hash = reinterpret_cast<std::uintptr_t>(segment);
  for (const std::uint64_t part : {serial, unit}) {
    hash = (hash ^ part) * 0xFF51AFD7ED558CCDU;
    hash ^= hash >> 32;
  }
  return hash;
}

const StubArena::State::Segment* StubArena::State::segment_for(const types::Url& url) {
  std::string text = url.text();
  if (auto known = segment_of_text.find(text); known != segment_of_text.end()) {
    return known->second;
  }
  segments.push_back({url, std::move(text)});
  segment_of_text.emplace(segments.back().text, &segments.back());
  return &segments.back();
}

// As much address space as the system gives, up to the limit.
Result StubArena::State::open() {
  platform::Status status;
  for (const std::size_t smallest = std::min(limit, smallest_arena); limit >= smallest;
       limit /= 2) {
    status =
        platform::reserve(limit * stride_bytes, nullptr, platform::Placement::if_free, addresses);
    if (status.ok()) break;
  }
  if (status.ok()) {
    status =
        platform::FaultWatch::start(addresses.begin(), addresses.size_bytes(), report, this, watch);
  }
  if (!status.ok()) {
    addresses.release();
    return {
        error_code::NO_MEMORY,
        std::string("no address space for pointers to blocks that are not here: ") + status.what};
  }
  first.store(addresses.begin(), std::memory_order_relaxed);
  return {};
}

StubArena::State::Stub* StubArena::State::append() {
  std::atomic<Stub*>& chunk = chunks[count.load() / chunk_records];
  if (chunk.load() == nullptr) chunk.store(new Stub[chunk_records]());
  return &at(count.load());
}

// One line, in one call, from the handler: nothing here takes memory or a lock.
bool StubArena::State::report(void* context, std::byte* address, platform::FaultAccess) noexcept {
  bool is_first_byte = false;
  const State::Stub* stub = static_cast<const State*>(context)->on_page(address, is_first_byte);
  if (stub == nullptr) return false;
  std::array<char, 24> serial{};
  std::array<char, 24> unit{};
  const auto* serial_end = std::to_chars(serial.begin(), serial.end(), stub->serial).ptr;
  const auto* unit_end = std::to_chars(unit.begin(), unit.end(), stub->unit).ptr;
  const std::string_view reason = why(stub->reason.load(std::memory_order_relaxed));
  const std::array<std::string_view, 9> line{
      "interweave: the program touched a pointer that leads to ",
      stub->segment->text,
      "#",
      {serial.data(), static_cast<std::size_t>(serial_end - serial.data())},
      "#",
      {unit.data(), static_cast<std::size_t>(unit_end - unit.data())},
      ", which is not here: ",
      reason,
      "\n"};
  platform::write_to_stderr(line);
  return false;  // the process takes its SIGSEGV
}

StubArena& StubArena::program() {
  static std::atomic<StubArena*> current{nullptr};
  StubArena* now = current.load(std::memory_order_acquire);
  while (now == nullptr || now->state_->made_in_fork != platform::fork_count()) {
    auto next = std::make_unique<StubArena>();
    if (current.compare_exchange_strong(now, next.get())) return *next.release();
  }
  return *now;
}

StubArena::StubArena(std::size_t max_stubs) : state_(std::make_unique<State>()) {
  state_->limit = max_stubs < kMaxStubs ? max_stubs : kMaxStubs;
}
StubArena::~StubArena() = default;

Result StubArena::stub_for(const types::Url& url, std::uint64_t serial, std::uint64_t unit,
                           StubReason reason, void*& out) {
  State& state = *state_;
  const platform::MutexLock lock(state.mutex);
  try {
    const State::Segment* segment = state.segment_for(url);
    const std::uint64_t hash = State::hash_of(segment, serial, unit);
    memory::RecordId id = state.by_place.find(hash, [&](memory::RecordId other) {
      const State::Stub& stub = state.at(other);
      return stub.segment == segment && stub.serial == serial && stub.unit == unit;
    });
    if (id == memory::no_record) {
      const std::size_t count = state.count.load(std::memory_order_relaxed);
      if (count == state.limit) {
        return {error_code::NO_MEMORY, "this process holds " + std::to_string(count) +
                                           " pointers to blocks that are not here; no more fit"};
      }
      if (!state.addresses) {
        if (Result bad = state.open(); !bad) return bad;
      }
      state.by_place.prepare(1, [&](memory::RecordId other) {
        const State::Stub& stub = state.at(other);
        return State::hash_of(stub.segment, stub.serial, stub.unit);
      });
      State::Stub* made = state.append();
      made->segment = segment;
      made->serial = serial;
      made->unit = unit;
      made->reason.store(reason, std::memory_order_relaxed);
      id = static_cast<memory::RecordId>(count);
      state.by_place.insert(hash, id);
      state.count.store(count + 1, std::memory_order_release);
    }
    if (reason != StubReason::not_mapped) {
      state.at(id).reason.store(reason, std::memory_order_relaxed);
    }
    out = state.address_of(id);
    return {};
  } catch (const std::bad_alloc&) {
    return Result::no_memory();
  }
}

bool StubArena::find(const void* address, StubTarget& out) const {
  bool is_first_byte = false;
  const State::Stub* stub = state_->on_page(address, is_first_byte);
  if (stub == nullptr || !is_first_byte) return false;
  out = {stub->segment->url, stub->serial, stub->unit,
         stub->reason.load(std::memory_order_relaxed)};
  return true;
}

std::size_t StubArena::size() const { return state_->count.load(std::memory_order_acquire); }

}  // namespace iw::swizzle
