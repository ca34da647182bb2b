/* The numbers of type_table.h in the order of types.f90, and sizes of structs, for the test
 * constants.f90. */
#include <interweave.h>

const int header_constants[] = {
    IW_KIND_PRIMITIVE,   IW_KIND_ENUM,       IW_KIND_STRING,      IW_KIND_ARRAY,
    IW_KIND_RECORD,      IW_KIND_UNION,      IW_KIND_POINTER,     IW_KIND_SEQUENCE,
    IW_KIND_TEXT,        IW_PRIMITIVE_CHAR,  IW_PRIMITIVE_UCHAR,  IW_PRIMITIVE_SHORT,
    IW_PRIMITIVE_USHORT, IW_PRIMITIVE_INT,   IW_PRIMITIVE_UINT,   IW_PRIMITIVE_HYPER,
    IW_PRIMITIVE_UHYPER, IW_PRIMITIVE_FLOAT, IW_PRIMITIVE_DOUBLE, IW_PRIMITIVE_BOOL};
const int header_constant_count = sizeof header_constants / sizeof header_constants[0];

const int header_sizes[] = {sizeof(IW_stats_t),     sizeof(IW_copy_state), sizeof(IW_open_options),
                            sizeof(IW_sequence_t),  sizeof(IW_block_t),    sizeof(IW_type_def),
                            sizeof(IW_enum_member), sizeof(IW_field_def),  sizeof(IW_arm_def)};
