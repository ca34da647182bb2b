// How the processes of a job meet before they can talk: each gives some bytes (an address, a key)
// and gets everybody's. Under mpirun by PMIx; without it as the environment says:
//
//   IW_RENDEZVOUS=tcp:HOST:PORT or file:DIRECTORY (of one job at a time), IW_RANK=n, IW_SIZE=n
//
// On the way the processes share the job key, unless the environment says one (job_key.h): Fabrics
// that are opened afterwards have it. By TCP they prove the key of the environment to each other
// (spec/cluster/hello.x); without one they meet on this machine only.
//
// A process without either is alone, rank 0 of 1. Processes that are no job need none of this: an
// Address can be handed over in any way.
#pragma once

#include "fabric/fabric.h"

namespace iw::fabric {

inline constexpr std::size_t exchange_bytes_max = 64 << 10;

class Rendezvous {
 public:
  // nullptr, and why in *error.
  static std::unique_ptr<Rendezvous> open(Deadline deadline, std::string* error);
  virtual ~Rendezvous() = default;
  unsigned rank() const { return rank_; }
  unsigned size() const { return size_; }
  // Everybody's bytes by rank. All call it, the same number of times.
  virtual Status exchange(Bytes mine, Deadline deadline,
                          std::vector<std::vector<std::byte>>* everybodys) = 0;

 protected:
  unsigned rank_ = 0;
  unsigned size_ = 1;
};

}  // namespace iw::fabric
