// Memory of this process that others reach. Its key has by what they do without asking: a shared
// segment, for those on this machine, or what the adapters have registered; over TCP they ask.
#include <sys/mman.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "fabric/memory_key.h"
#include "fabric/shared_segment.h"
#include "fabric/ucx_fabric.h"
#include "fabric/ucx_status.h"

namespace iw::fabric {
namespace {

class UcxMemory final : public Memory {
 public:
  // Whatever holds the bytes is let go of at the end.
  UcxMemory(std::span<std::byte> bytes, std::shared_ptr<void> storage, Regions& regions)
      : storage_(std::move(storage)), regions_(regions), name_(regions.add(bytes)) {
    bytes_ = bytes;
  }
  ~UcxMemory() override {
    if (name_) regions_.remove(*name_);
  }
  bool has_name() const { return name_.has_value(); }
  void make_key(const std::array<std::uint64_t, 2>& process_nonce, Bytes own_key) {
    const MemoryKey key{reinterpret_cast<std::uintptr_t>(bytes_.data()), bytes_.size(),
                        process_nonce, *name_};
    key_ = encode(key, own_key);
  }

 private:
  const std::shared_ptr<void> storage_;
  Regions& regions_;
  const std::optional<RegionName> name_;
};

// Memory, and by what others reach it without asking.
struct Allocated {
  std::byte* begin = nullptr;
  std::shared_ptr<void> storage;
  std::vector<std::byte> own_key;
};

Allocated shared_segment(std::size_t bytes) {
  const std::shared_ptr<SharedSegment> segment = SharedSegment::create(bytes);
  if (segment == nullptr) return {};
  const int id = segment->id();
  const auto id_bytes = std::as_bytes(std::span(&id, 1));
  return {segment->begin(), segment, {id_bytes.begin(), id_bytes.end()}};
}

Allocated private_pages(std::size_t bytes) {
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return {};
  const auto unmap = [bytes](void* begin) { munmap(begin, bytes); };
  return {static_cast<std::byte*>(at), std::shared_ptr<void>(at, unmap), {}};
}

// With the adapters; allocated where there is no address.
Status register_memory(ucp_context_h context, void* address, std::size_t bytes, Allocated* all) {
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                      UCP_MEM_MAP_PARAM_FIELD_FLAGS;
  params.address = address;
  params.length = bytes;
  params.flags = address == nullptr ? UCP_MEM_MAP_ALLOCATE : 0;
  ucp_mem_h mapped = nullptr;
  ucs_status_t status = ucp_mem_map(context, &params, &mapped);
  if (status != UCS_OK) return to_status(status);
  all->storage = {mapped,
                  [context](void* held) { ucp_mem_unmap(context, static_cast<ucp_mem_h>(held)); }};
  if (address == nullptr) {  // of others' memory it tells what it has registered, which is more
    ucp_mem_attr_t attributes{};
    attributes.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
    ucp_mem_query(mapped, &attributes);
    address = attributes.address;
  }
  all->begin = static_cast<std::byte*>(address);
  void* packed = nullptr;
  std::size_t packed_bytes = 0;
  status = ucp_rkey_pack(context, mapped, &packed, &packed_bytes);
  if (status != UCS_OK) return to_status(status);
  const auto* const key = static_cast<const std::byte*>(packed);
  all->own_key.assign(key, key + packed_bytes);
  ucp_rkey_buffer_release(packed);
  return Status::ok;
}

// nullptr: there are too many of them.
std::unique_ptr<Memory> named(std::span<std::byte> bytes, const Allocated& all, Regions& regions,
                              const ProcessName& process, Status* status) {
  auto memory = std::make_unique<UcxMemory>(bytes, all.storage, regions);
  *status = memory->has_name() ? Status::ok : Status::no_memory;
  if (*status != Status::ok) return nullptr;
  memory->make_key(process.nonce, all.own_key);
  return memory;
}

}  // namespace

std::unique_ptr<Memory> UcxFabric::allocate(std::size_t bytes, Status* status) {
  *status = Status::bad_argument;
  if (bytes == 0) return nullptr;
  Allocated all;
  *status = Status::ok;
  if (transport_ == Transport::verbs) {
    *status = register_memory(context_, nullptr, bytes, &all);
  } else {
    if (transport_ != Transport::tcp) all = shared_segment(bytes);
    if (all.begin == nullptr) all = private_pages(bytes);
    if (all.begin == nullptr) *status = Status::no_memory;
  }
  if (*status != Status::ok) return nullptr;
  return named(std::span(all.begin, bytes), all, regions_, name_, status);
}

std::unique_ptr<Memory> UcxFabric::attach(std::span<std::byte> bytes, Status* status) {
  *status = Status::bad_argument;
  if (bytes.empty()) return nullptr;
  Allocated all;
  *status = Status::ok;
  if (transport_ == Transport::verbs) {
    *status = register_memory(context_, bytes.data(), bytes.size(), &all);
  }
  if (*status != Status::ok) return nullptr;
  return named(bytes, all, regions_, name_, status);
}

}  // namespace iw::fabric
