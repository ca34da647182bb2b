// The callee's side of a call by reference: finds the caller's parts by their MIP, and changes them
// where they are, under the writer lock. Segments stay open between calls: the copy is what makes
// the next call on the same structure cheap. A caller's data must not end the callee: before a part
// is looked at, its address is checked.
#pragma once

#include <interweave.hpp>
#include <list>
#include <string>

#include "callee/known_parts.h"
#include "service.h"
#include "stock.hpp"

namespace stock {

class SharedStocks {
 public:
  // Throw iw::Error or std::runtime_error; nothing of the stock is changed then.
  receipt restock(const std::string& root_mip, const restock_order& order);
  receipt introduce(const new_part& wanted);

 private:
  static constexpr std::size_t kOpenMax = 16;  // a caller can name any number of segments
  struct Open {
    std::string url;
    iw::Segment segment;
    KnownParts parts;
  };

  Open& open(const std::string& mip);

  std::list<Open> open_;  // the last used first
};

}  // namespace stock
