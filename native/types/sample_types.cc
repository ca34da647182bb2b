#include "types/sample_types.h"

namespace iw::types::samples {

IW_ALIGN_PROBE(figure_3, figure_3);
IW_ALIGN_PROBE(node_t, node_t);
IW_ALIGN_PROBE(shape, shape);
IW_ALIGN_PROBE(pair_t, pair_t);
IW_ALIGN_PROBE(everything, everything);

extern const IW_type_def node_t_def;

const IW_type_def figure_3_pointer = IW_POINTER_DEF("", &IW_def_int);
const IW_field_def figure_3_fields[] = {
    {"i0", &IW_def_int, offsetof(figure_3, i0)},
    {"i1", &IW_def_int, offsetof(figure_3, i1)},
    {"i2", &IW_def_int, offsetof(figure_3, i2)},
    {"d0", &IW_def_double, offsetof(figure_3, d0)},
    {"d1", &IW_def_double, offsetof(figure_3, d1)},
    {"ptr", &figure_3_pointer, offsetof(figure_3, ptr)},
};
const IW_type_def figure_3_def =
    IW_RECORD_DEF("figure_3", sizeof(figure_3), IW_ALIGN_OF(figure_3), figure_3_fields, 6);

const IW_type_def node_t_pointer = IW_POINTER_DEF("", &node_t_def);
const IW_field_def node_t_fields[] = {
    {"key", &IW_def_int, offsetof(node_t, key)},
    {"next", &node_t_pointer, offsetof(node_t, next)},
};
const IW_type_def node_t_def =
    IW_RECORD_DEF("node_t", sizeof(node_t), IW_ALIGN_OF(node_t), node_t_fields, 2);

const IW_enum_member colour_members[] = {{"RED", 1}, {"GREEN", 2}, {"BLUE", 5}};
const IW_type_def colour_def = IW_ENUM_DEF("colour", colour_members, 3);

const IW_type_def label_def = IW_STRING_DEF("", 20);
const IW_type_def side_def =
    IW_ARRAY_DEF("", sizeof(double[2]), IW_ALIGN_OF(double), &IW_def_double, 2);
const IW_field_def shape_discriminant[] = {{"kind", &IW_def_int, offsetof(shape, kind)}};
const int32_t circle_values[] = {1};
const int32_t box_values[] = {2, 3};
const int32_t node_values[] = {7};
const int32_t void_values[] = {-1};
const IW_arm_def shape_arms[] = {
    {"radius", &IW_def_int, offsetof(shape, u.radius), circle_values, 1},
    {"side", &side_def, offsetof(shape, u.side), box_values, 2},
    {"node", &node_t_pointer, offsetof(shape, u.node), node_values, 1},
    {"", nullptr, 0, void_values, 1},
};
const IW_arm_def shape_default = {"label", &label_def, offsetof(shape, u.label), nullptr, 0};
const IW_type_def shape_def = IW_UNION_DEF("shape", sizeof(shape), IW_ALIGN_OF(shape),
                                           shape_discriminant, shape_arms, 4, &shape_default);

const IW_field_def pair_t_fields[] = {
    {"x", &IW_def_float, offsetof(pair_t, x)},
    {"y", &IW_def_float, offsetof(pair_t, y)},
};
const IW_type_def pair_t_def =
    IW_RECORD_DEF("pair_t", sizeof(pair_t), IW_ALIGN_OF(pair_t), pair_t_fields, 2);

const IW_type_def bytes_def = IW_ARRAY_DEF("", 3, 1, &IW_def_uchar, 3);
const IW_type_def tag_def = IW_STRING_DEF("", 8);
const IW_type_def title_def = IW_STRING_DEF("", 40);
const IW_type_def forms_def = IW_ARRAY_DEF("", sizeof(shape[2]), IW_ALIGN_OF(shape), &shape_def, 2);
const IW_type_def points_def =
    IW_ARRAY_DEF("", sizeof(pair_t[4]), IW_ALIGN_OF(pair_t), &pair_t_def, 4);
const IW_type_def anything_def = IW_POINTER_DEF("", nullptr);
const IW_type_def values_def = IW_SEQUENCE_DEF("", &IW_def_double, 0);
const IW_type_def remark_def = IW_TEXT_DEF("", 0);
const IW_type_def row_def =
    IW_ARRAY_DEF("", sizeof(double[3]), IW_ALIGN_OF(double), &IW_def_double, 3);
const IW_type_def matrix_def =
    IW_ARRAY_DEF("", sizeof(double[2][3]), IW_ALIGN_OF(double), &row_def, 2);
#define FIELD(name, type) \
  { #name, type, offsetof(everything, name) }
const IW_field_def everything_fields[] = {
    FIELD(c, &IW_def_char),        FIELD(bytes, &bytes_def),       FIELD(s, &IW_def_short),
    FIELD(flag, &IW_def_bool),     FIELD(hue, &colour_def),        FIELD(big, &IW_def_hyper),
    FIELD(f, &IW_def_float),       FIELD(tag, &tag_def),           FIELD(title, &title_def),
    FIELD(forms, &forms_def),      FIELD(points, &points_def),     FIELD(inner, &node_t_def),
    FIELD(first, &node_t_pointer), FIELD(anything, &anything_def), FIELD(values, &values_def),
    FIELD(remark, &remark_def),    FIELD(matrix, &matrix_def),
};
const IW_type_def everything_def =
    IW_RECORD_DEF("everything", sizeof(everything), IW_ALIGN_OF(everything), everything_fields, 17);

const IW_type_t IW_figure_3 = &figure_3_def;
const IW_type_t IW_node_t = &node_t_def;
const IW_type_t IW_colour = &colour_def;
const IW_type_t IW_shape = &shape_def;
const IW_type_t IW_pair_t = &pair_t_def;
const IW_type_t IW_everything = &everything_def;
const IW_type_t IW_label = &label_def;
const IW_type_t IW_matrix = &matrix_def;

}  // namespace iw::types::samples
