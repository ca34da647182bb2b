// A process's part in the cluster: the transport's context, the door, the service thread, and
// memory.
#pragma once

#include <ucp/api/ucp.h>

#include <atomic>
#include <memory>

#include "fabric/door.h"
#include "fabric/fabric.h"
#include "fabric/regions.h"
#include "fabric/service.h"

namespace iw::fabric {

class UcxFabric final : public Fabric {
 public:
  UcxFabric(ucp_context_h context, Transport transport, const JobKey& key,
            std::chrono::microseconds spin);
  ~UcxFabric() override;
  bool is_open() const { return door_->is_open(); }
  bool is_served() const { return is_served_; }

  std::unique_ptr<Worker> add_worker(Status* status) override;
  std::unique_ptr<Memory> allocate(std::size_t bytes, Status* status) override;
  std::unique_ptr<Memory> attach(std::span<std::byte> bytes, Status* status) override;
  Transport transport() const override { return transport_; }
  std::uint64_t strangers_refused() const override { return strangers_.refused(); }

  Door& door() { return *door_; }
  Service& service() { return *service_; }
  Regions& regions() { return regions_; }
  const JobKey& key() const { return key_; }
  Strangers& strangers() { return strangers_; }
  const ProcessName& name() const { return name_; }
  const Place& place() const { return door_->place(); }
  std::chrono::microseconds spin() const { return spin_; }
  // The transport's part of a worker.
  Status make_transport(ucp_worker_h* made) const;
  // A worker could not be destroyed, and needs the library's context until the process ends.
  void keep_context() { is_context_kept_ = true; }

 private:
  ucp_context_h context_;
  std::atomic<bool> is_context_kept_{false};
  const Transport transport_;
  const JobKey key_;
  Strangers strangers_;
  const std::chrono::microseconds spin_;
  const ProcessName name_;
  Regions regions_;
  std::atomic<std::uint32_t> next_worker_{0};
  std::unique_ptr<Door> door_;
  std::unique_ptr<Service> service_;
  bool is_served_ = false;
};

}  // namespace iw::fabric
