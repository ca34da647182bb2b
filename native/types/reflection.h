// Types as tables (interweave/type_table.h), for programs without generated code: they see the
// types of a segment as a program that was compiled with them would.
//
// Thread safe. A table lives as long as the program, so that a type's table is the same in every
// segment; what this keeps is bounded by the descriptors that were received and asked for.
#pragma once

#include "interweave/type_table.h"
#include "types/result.h"
#include "types/type.h"

namespace iw::types {

// The program's own table if it registered the type with this layout; otherwise one made here, by
// which the type may be allocated.
IW_type_t table_of(const Type& type);

// The same type with its sizes, alignments and offsets, for a registered table that left them 0;
// null and `why` for one that is not registered.
IW_type_t laid_out(IW_type_t table, Result& why);

}  // namespace iw::types
