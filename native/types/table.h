// Reads the descriptor tables of generated code (interweave/type_table.h). The tables belong to the
// program, so they are not treated as hostile. The checks make sure that they were compiled for
// this kind of machine and follow [TYPE-2].
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "interweave/type_table.h"
#include "types/result.h"
#include "types/type.h"

namespace iw::types {

// The types of a table and of everything it refers to: complete, and not published yet.
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
