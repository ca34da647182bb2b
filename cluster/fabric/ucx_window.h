// Another process's memory, as a worker sees it.
//
// Invariant: a peer's place is not used again while a window on the peer is open; the worker's lock
// guards the count.
#pragma once

#include <ucp/api/ucp.h>

#include <memory>
#include <utility>

#include "fabric/memory_key.h"
#include "fabric/peer_table.h"
#include "fabric/shared_segment.h"
#include "fabric/worker_lock.h"

namespace iw::fabric {

class UcxWindow final : public Window {
 public:
  // With the worker's lock held.
  UcxWindow(WorkerLock& lock, Peer* peer, const MemoryKey& key)
      : peer_state(peer), remote_address(key.address), region(key.region), lock_(lock) {
    peer_ = peer->id;
    size_ = key.size;
    peer->windows++;
  }
  ~UcxWindow() override;
  // Nothing if it cannot be mapped here.
  void map(std::unique_ptr<SharedSegment> segment) {
    segment_ = std::move(segment);
    direct_ = segment_ == nullptr ? nullptr : segment_->begin();
  }
  Peer* peer_state;
  std::uint64_t remote_address;
  RegionName region;
  Regions* own_regions = nullptr;  // of memory of this process
  ucp_rkey_h rkey = nullptr;       // where the transport reaches the memory by itself

 private:
  WorkerLock& lock_;
  std::unique_ptr<SharedSegment> segment_;
};

}  // namespace iw::fabric
