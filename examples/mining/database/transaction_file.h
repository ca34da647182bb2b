// Databases in files: one transaction a line, `customer rank n item1 ... itemn`, where rank tells
// the order of all transactions (data/SOURCES.md).
#pragma once

#include <optional>
#include <string>

#include "database/transaction.h"

namespace mining {

// In the order of their ranks. Returns what is wrong, if anything is.
std::optional<std::string> read_transactions(const std::string& path, Database& database);

}  // namespace mining
