// Types as tables (interweave/type_table.h), for programs without generated code. They see the
// types of a segment as a program that was compiled with them would.
//
// Thread safe. A table lives as long as the program, so a type's table is the same in every
// segment. Memory is bounded by the descriptors that were received and asked for.
#pragma once

#include "interweave/type_table.h"
#include "types/result.h"
#include "types/type.h"

namespace iw::types {

// The table of a type: the program's own if it registered the type with this layout; otherwise one
// made here, with which blocks of the type can be allocated.
IW_type_t table_of(const Type& type);

// The registered type with its sizes, alignments and offsets, for a table that left them 0. Null
// and `why` if the type is not registered.
IW_type_t laid_out(IW_type_t table, Result& why);

}  // namespace iw::types
