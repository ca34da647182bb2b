// Reading the descriptor tables of generated code (interweave/type_table.h). They belong to the
// program, so that nothing hostile is expected in them; what is checked is that they were compiled
// for the same kind of machine and are types as [TYPE-2] has them.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "interweave/type_table.h"
#include "types/result.h"
#include "types/type.h"

namespace iw::types {

// A table and everything it refers to, as types. Complete, but known to nobody yet.
struct TableGroup {
  std::vector<std::unique_ptr<Type>> types;  // parts before what embeds them
  std::unordered_map<IW_type_t, const Type*> by_table;
};

// `known` gives the type of a table that is complete already, else null.
Result read_table(IW_type_t root, const std::function<const Type*(IW_type_t)>& known,
                  TableGroup& out);

// The library's table of a primitive.
IW_type_t primitive_table(Primitive primitive);

// For messages: the table's name, or its kind.
std::string table_name(IW_type_t table);

}  // namespace iw::types
