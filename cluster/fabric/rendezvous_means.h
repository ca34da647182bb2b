// The means by which processes meet, each in a file of its own.
#pragma once

#include "fabric/rendezvous.h"

namespace iw::fabric {

std::unique_ptr<Rendezvous> meet_by_files(const std::string& folder, unsigned rank, unsigned size,
                                          std::string* error);
// `place` is HOST:PORT, where rank 0 listens.
std::unique_ptr<Rendezvous> meet_by_tcp(const std::string& place, unsigned rank, unsigned size,
                                        Deadline deadline, std::string* error);
std::unique_ptr<Rendezvous> meet_by_pmix(Deadline deadline, std::string* error);

}  // namespace iw::fabric
