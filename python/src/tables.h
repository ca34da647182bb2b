// Types as Python sees them: IW_type_def tables taken apart, and tables made from Python's
// declarations. A table's address is its identity; tables live as long as the program.
#pragma once

#include "failure.h"

namespace iwpy {

void bind_tables(nb::module_& module);

}  // namespace iwpy
