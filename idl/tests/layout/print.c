/*
 * A library that only looks: prints the size of each record and union that generated tables
 * register, and the offsets of what is in it, as the tables say. The Fortran program beside it
 * prints the same.
 */
#include <stdio.h>

#include "primitives.h"

/* Fortran joins namespaces by an underscore. */
static void print_name(const char* name) {
  for (; *name != '\0'; ++name) {
    if (name[0] == ':' && name[1] == ':') {
      putchar('_');
      ++name;
    } else {
      putchar(*name);
    }
  }
}

static void print_number(const char* type, const char* member, size_t number) {
  print_name(type);
  printf("%%%s %lu\n", member, (unsigned long)number);
}

int IW_register_types(const IW_type_t* types, size_t count) {
  size_t i, j;
  for (i = 0; i < count; ++i) {
    const IW_type_t t = types[i];
    if (t->kind != IW_KIND_RECORD && t->kind != IW_KIND_UNION) continue;
    print_number(t->name, "", t->size);
    for (j = 0; j < t->field_count; ++j) {
      print_number(t->name, t->fields[j].name, t->fields[j].offset);
    }
    for (j = 0; j < t->arm_count; ++j) {
      if (t->arms[j].type != NULL) print_number(t->name, t->arms[j].name, t->arms[j].offset);
    }
    if (t->otherwise != NULL && t->otherwise->type != NULL) {
      print_number(t->name, t->otherwise->name, t->otherwise->offset);
    }
  }
  return 0;
}

int main(void) { return 0; }
