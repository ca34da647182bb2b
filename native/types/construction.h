// The steps that construct a type, whether it was read from a program's tables or received. Each
// type comes after the types embedded in it. The order for each is: structure, hash (hash.h),
// layout, plan.
#pragma once

#include <string>

#include "types/result.h"
#include "types/type.h"

namespace iw::types {

// Checks [TYPE-2] but for the hash, and counts units, slots and depth. Empty, or why it is refused.
std::string finish_structure(Type& type);

// Lays the type out by the platform's C rules. False if it does not fit this machine's memory.
bool lay_out(Type& type);

// Whether the layout that a program's table gives is one that a C compiler can have made here.
// Empty, or what is wrong with it.
std::string check_layout(const Type& type);

// Needs structure and layout of everything embedded.
void compile_plan(Type& type);

}  // namespace iw::types
