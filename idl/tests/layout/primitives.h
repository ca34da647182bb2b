/* The descriptors of the primitive types, for programs that look at tables without the library. */
#include <interweave/type_table.h>

#define PRIMITIVE(name, type, number)                                 \
  const IW_type_def IW_def_##name = {#name,        IW_KIND_PRIMITIVE, \
                                     number,       sizeof(type),      \
                                     sizeof(type), 0,                 \
                                     NULL,         0,                 \
                                     NULL,         0,                 \
                                     NULL,         0,                 \
                                     NULL,         0,                 \
                                     NULL};                           \
  const IW_type_t IW_##name = &IW_def_##name
PRIMITIVE(char, char, IW_PRIMITIVE_CHAR);
PRIMITIVE(uchar, unsigned char, IW_PRIMITIVE_UCHAR);
PRIMITIVE(short, short, IW_PRIMITIVE_SHORT);
PRIMITIVE(ushort, unsigned short, IW_PRIMITIVE_USHORT);
PRIMITIVE(int, int, IW_PRIMITIVE_INT);
PRIMITIVE(uint, unsigned, IW_PRIMITIVE_UINT);
PRIMITIVE(hyper, int64_t, IW_PRIMITIVE_HYPER);
PRIMITIVE(uhyper, uint64_t, IW_PRIMITIVE_UHYPER);
PRIMITIVE(float, float, IW_PRIMITIVE_FLOAT);
PRIMITIVE(double, double, IW_PRIMITIVE_DOUBLE);
PRIMITIVE(bool, IW_bool_t, IW_PRIMITIVE_BOOL);
