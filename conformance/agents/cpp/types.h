// Types that the runner declares, as tables made at run time: without sizes and offsets, which the
// library fills in for the machine [TYPE-1].
#pragma once

#include <map>
#include <string>

#include "interweave.h"
#include "json.h"

namespace agent {

class Types {
 public:
  Types();

  // A list of {"name": N, KIND: ...}, which may refer to each other and to earlier ones.
  void declare(const Json& list);

  // By name, or an anonymous type by its description. Null for a name that nobody declared.
  IW_type_t find(const Json& description);

 private:
  IW_type_t reference(const Json& description);
  void fill(IW_type_def& made, const Json& description);
  void fill_union(IW_type_def& made, const Json& body);

  std::map<std::string, IW_type_t> named_;
  std::map<std::string, IW_type_t> anonymous_;
};

// A type's name, or its description if it has none.
std::string description_of(IW_type_t type);

}  // namespace agent
