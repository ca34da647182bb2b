// A stock of parts as JSON, each part an object in the one above it, as calls by copy through HTTP
// carry it. A text that cannot be read throws std::runtime_error.
#pragma once

#include <string>

#include "caller/part_copy.h"

namespace stock {

// {"below": .., "up_to": .., "parts": {"number": .., "in_stock": .., "price": .., "name": "..",
//  "lower": {..} or null, "higher": {..} or null}}
std::string order_as_json(const part_copy* root, const restock_order& order);

// Of {"visited": .., "ordered": .., "cost": .., "parts": {..}}; the parts go to `root`.
receipt receipt_from_json(const std::string& text, PartCopy& root);

}  // namespace stock
