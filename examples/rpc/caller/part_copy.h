// Copies of parts, as calls by copy carry them.
#pragma once

#include <memory>

#include "service.h"

namespace stock {

// Made by rpcgen's routines or by malloc, and freed as rpcgen frees.
struct FreePartCopy {
  void operator()(part_copy* root) const;
};
using PartCopy = std::unique_ptr<part_copy, FreePartCopy>;

PartCopy make_part_copy(int number, int in_stock, double price, const char* name);

}  // namespace stock
