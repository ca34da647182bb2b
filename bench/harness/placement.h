// Where the processes of a measurement run. Free placement costs cross-core wake-ups, so systems
// are only compared under the same placement.
#pragma once

namespace bench {

enum class Placement { free, one_core };

const char* placement_name(Placement placement);

// For this process and those it starts from now on.
void place(Placement placement);

}  // namespace bench
