// A type with every kind of owned field [WIRE-7], as tests and their agent see it:
//   struct test_pad {
//     string title<>; int marks<4>;
//     union switch (int kind) { case 1: string text<>; case 2: int number; } extra;
//     test_kid kids<>;             struct test_kid { string name<>; test_kid kids<>; };
//   };
#pragma once

#include <cstddef>
#include <string>

#include "interweave.h"

namespace iw::test {

struct Marks {
  unsigned int len;
  int* val;
};
struct Kid;
struct Kids {
  unsigned int len;
  Kid* val;
};
struct Kid {
  char* name;
  Kids kids;
};
struct Extra {
  int kind;
  union {
    char* text;
    int number;
  };
};
struct Pad {
  char* title;
  Marks marks;
  Extra extra;
  Kids kids;
};

inline const IW_type_def pad_text = IW_TEXT_DEF("", 0);
inline const IW_type_def pad_marks = IW_SEQUENCE_DEF("", &IW_def_int, 4);
extern const IW_type_def kid_type;
inline const IW_type_def pad_kids = IW_SEQUENCE_DEF("", &kid_type, 0);
inline const IW_field_def kid_fields[] = {{"name", &pad_text, offsetof(Kid, name)},
                                          {"kids", &pad_kids, offsetof(Kid, kids)}};
inline const IW_type_def kid_type =
    IW_RECORD_DEF("test_kid", sizeof(Kid), alignof(Kid), kid_fields, 2);
inline const int32_t pad_case_1[] = {1};
inline const int32_t pad_case_2[] = {2};
inline const IW_arm_def pad_arms[] = {
    {"text", &pad_text, offsetof(Extra, text), pad_case_1, 1},
    {"number", &IW_def_int, offsetof(Extra, number), pad_case_2, 1}};
inline const IW_field_def pad_kind = {"kind", &IW_def_int, offsetof(Extra, kind)};
inline const IW_type_def pad_extra =
    IW_UNION_DEF("test_extra", sizeof(Extra), alignof(Extra), &pad_kind, pad_arms, 2, NULL);
inline const IW_field_def pad_fields[] = {{"title", &pad_text, offsetof(Pad, title)},
                                          {"marks", &pad_marks, offsetof(Pad, marks)},
                                          {"extra", &pad_extra, offsetof(Pad, extra)},
                                          {"kids", &pad_kids, offsetof(Pad, kids)}};
inline const IW_type_def pad_type =
    IW_RECORD_DEF("test_pad", sizeof(Pad), alignof(Pad), pad_fields, 4);

inline int register_pads() {
  const IW_type_t types[] = {&kid_type, &pad_extra, &pad_type};
  return IW_register_types(types, 3);
}

// The value in words: two pads with the same words are equal.
inline std::string words_of(const Kids& kids) {
  std::string words = "{";
  for (unsigned int i = 0; i < kids.len; ++i) {
    if (kids.val[i].name != nullptr) words += kids.val[i].name;
    words += words_of(kids.val[i].kids);
  }
  return words + "}";
}
inline std::string words_of(const Pad& pad) {
  std::string words = pad.title == nullptr ? "" : pad.title;
  for (unsigned int i = 0; i < pad.marks.len; ++i)
    words.append(1, ',').append(std::to_string(pad.marks.val[i]));
  words += "/";
  if (pad.extra.kind == 1 && pad.extra.text != nullptr) words += pad.extra.text;
  if (pad.extra.kind == 2) words += std::to_string(pad.extra.number);
  return words + words_of(pad.kids);
}

}  // namespace iw::test
