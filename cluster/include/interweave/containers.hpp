// Active Containers: one writer, many readers, each with a copy that is kept up by shipping the
// writer's calls. Start with Factory in containers/active.hpp; docs/containers.md is the guide.
#ifndef INTERWEAVE_CONTAINERS_HPP
#define INTERWEAVE_CONTAINERS_HPP

#include "interweave/containers/active.hpp"
#include "interweave/containers/ready_made.hpp"

#endif
