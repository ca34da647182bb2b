// Types for tests, with tables as the compiler generates them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interweave/type_table.h"

namespace iw::types::samples {

// ICDCS'03, Figure 3.
struct figure_3 {
  int i0, i1, i2;
  double d0, d1;
  int* ptr;
};

// Figure 1.
struct node_t {
  int key;
  node_t* next;
};

enum class colour : int { red = 1, green = 2, blue = 5 };

struct shape {
  int kind;
  union {
    int radius;
    double side[2];
    node_t* node;
    char label[21];
  } u;
};

struct pair_t {
  float x, y;
};

struct numbers {
  unsigned int x_len;
  double* x_val;
};

// One of everything.
struct everything {
  char c;
  unsigned char bytes[3];
  short s;
  int flag;  // bool
  int hue;   // colour
  std::int64_t big;
  float f;
  char tag[9];     // string<8>
  char title[41];  // string<40>
  shape forms[2];
  pair_t points[4];
  node_t inner;
  node_t* first;
  void* anything;
  numbers values;
  char* remark;
  double matrix[2][3];
};

extern const IW_type_t IW_figure_3, IW_node_t, IW_colour, IW_shape, IW_pair_t, IW_everything;
// char[21] as string<20>, and double[2][3]: unnamed.
extern const IW_type_t IW_label, IW_matrix;

inline constexpr IW_type_t const* kAll[] = {&IW_figure_3, &IW_node_t, &IW_colour,
                                            &IW_shape,    &IW_pair_t, &IW_everything};

}  // namespace iw::types::samples
