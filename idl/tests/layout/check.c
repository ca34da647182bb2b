/*
 * A library that only looks: it takes the tables that generated code registers, and checks that
 * they say what the compiler says. Built once with the C tables and once with those for C++.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layout.h"
#include "primitives.h"

static const IW_type_t* registered;
static size_t registered_count;

int IW_register_types(const IW_type_t* types, size_t count) {
  registered = types;
  registered_count = count;
  return 0;
}

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                        \
    }                                                                 \
  } while (0)

static void check_type(IW_type_t t) {
  size_t i;
  CHECK(t->align > 0 && t->size % t->align == 0);
  switch (t->kind) {
    case IW_KIND_RECORD:
      CHECK(t->field_count > 0 && t->fields[0].offset == 0);
      for (i = 0; i < t->field_count; ++i) {
        const IW_field_def* f = &t->fields[i];
        CHECK(f->offset % f->type->align == 0 && f->offset + f->type->size <= t->size);
        CHECK(i == 0 || f->offset >= f[-1].offset + f[-1].type->size);
        if (f->type->name[0] == '\0') check_type(f->type);
      }
      break;
    case IW_KIND_ARRAY:
      CHECK(t->count > 0 && t->size == t->count * t->element->size);
      CHECK(t->align == t->element->align);
      break;
    case IW_KIND_STRING:
      CHECK(t->size == t->count + 1);
      break;
    case IW_KIND_POINTER:
      CHECK(t->size == sizeof(void*) && t->element != NULL);
      break;
    case IW_KIND_SEQUENCE:
      CHECK(t->size == sizeof(IW_sequence_t) && t->element != NULL);
      break;
    case IW_KIND_UNION:
      CHECK(t->field_count == 1 && t->fields[0].offset == 0);
      for (i = 0; i < t->arm_count; ++i) {
        CHECK(t->arms[i].value_count > 0);
        CHECK(t->arms[i].type == NULL || t->arms[i].offset + t->arms[i].type->size <= t->size);
      }
      break;
    default:
      break;
  }
}

static const IW_field_def* field(IW_type_t t, const char* name) {
  size_t i;
  for (i = 0; i < t->field_count; ++i) {
    if (strcmp(t->fields[i].name, name) == 0) return &t->fields[i];
  }
  CHECK(!"the field exists");
  return NULL;
}

static void check_known(void) {
  const IW_type_t grid = field(IW_all, "j")->type;
  const IW_type_t cell = IW_cell;
  CHECK(strcmp(IW_all->name, "all") == 0 && IW_all->size == sizeof(all));
  CHECK(IW_all->field_count == 14);
  CHECK(field(IW_all, "c")->offset == offsetof(all, c));
  CHECK(field(IW_all, "m")->offset == offsetof(all, m));
  CHECK(field(IW_all, "d")->type == IW_bool && field(IW_all, "c")->type == IW_hyper);
  CHECK(field(IW_all, "e")->type->kind == IW_KIND_STRING && field(IW_all, "e")->type->count == 10);
  CHECK(field(IW_all, "f")->type->kind == IW_KIND_TEXT && field(IW_all, "f")->type->count == 0);
  CHECK(field(IW_all, "h")->type->kind == IW_KIND_SEQUENCE);
  CHECK(field(IW_all, "h")->type->element == IW_int && field(IW_all, "h")->type->count == 5);
  CHECK(sizeof(((all*)0)->h) == sizeof(IW_sequence_t));
  CHECK(field(IW_all, "n")->type->size == 16);

  CHECK(grid == IW_grid && strcmp(grid->name, "grid") == 0 && grid->count == 3);
  CHECK(grid->element->count == 4 && grid->element->element == IW_pair);
  CHECK(grid->element->name[0] == '\0');

  CHECK(field(IW_list, "next")->type->element == IW_list);
  CHECK(field(IW_all, "k")->type->element == IW_list);

  CHECK(cell->arm_count == 2 && cell->fields[0].type == IW_kind &&
        cell->size == sizeof(struct cell));
  CHECK(cell->arms[0].offset == offsetof(struct cell, cell_u) && cell->arms[0].type == IW_short);
  CHECK(cell->arms[1].value_count == 1 && cell->arms[1].values[0] == LARGE);
  CHECK(cell->otherwise != NULL && cell->otherwise->type == NULL);
  CHECK(IW_kind->member_count == 3 && strcmp(IW_kind->members[2].name, "LARGE") == 0);
}

int main(void) {
  size_t i;
  CHECK(registered_count == 6);
  for (i = 0; i < registered_count; ++i) check_type(registered[i]);
  check_known();
  return 0;
}
