// Writes a segment that exchange.f90 checks, and checks the one that it wrote:
//   cpp_exchange write|check URL
#include "exchange.h"

#include <interweave.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "FAILED: %s; last error: %s\n", what, IW_strerror());
  std::exit(1);
}

void write_segment(IW_handle_t segment) {
  check(IW_wl_acquire(segment) == 0, "writer lock");
  auto* first = static_cast<item*>(IW_malloc_named(segment, IW_item, "first"));
  auto* second = static_cast<item*>(IW_malloc(segment, IW_item));
  auto* values = static_cast<plane*>(IW_malloc_named(segment, IW_plane, "plane"));
  check(first != nullptr && second != nullptr && values != nullptr, "blocks");
  first->key = 7;
  std::strcpy(first->name, "the first");
  for (int i = 0; i < ROWS; ++i) {
    for (int j = 0; j < COLUMNS; ++j) {
      first->grid[i][j] = 10 * i + j;
      (*values)[i][j] = 100 * i + j;
    }
  }
  first->outline.kind = RED;
  first->outline.shape_u.at = {5, 0.25};
  first->flag = 1;
  first->letter = 'F';
  first->little = -3;
  first->ratio = 0.5F;
  std::memcpy(first->raw, "\1\2\377", 3);
  first->next = second;
  second->key = 8;
  second->outline.kind = GREEN;
  std::strcpy(second->outline.shape_u.label, "green");
  const uint64_t series[] = {UINT64_MAX, 2, 4294967296};
  check(IW_assign(segment, &first->notes, "from far away", 13) == 0, "text");
  check(IW_assign(segment, &first->series, series, 3) == 0, "numbers");
  check(IW_wl_release(segment) == 0, "release");
}

void check_values(const item& first, const plane& values) {
  for (int i = 0; i < ROWS; ++i) {
    for (int j = 0; j < COLUMNS; ++j) {
      check(first.grid[i][j] == 10 * i + j, "grid");
      check(values[i][j] == 100 * i + j, "plane");
    }
  }
  check(first.key == 7 && std::strcmp(first.name, "the first") == 0, "key and name");
  check(first.outline.kind == RED && first.outline.shape_u.at.x == 5, "the arm");
  check(first.outline.shape_u.at.y == 0.25, "the arm's number");
  check(first.flag == 1 && first.letter == 'F' && first.little == -3, "small ones");
  check(first.ratio == 0.5F && std::memcmp(first.raw, "\1\2\377", 3) == 0, "ratio, bytes");
}

void check_segment(IW_handle_t segment, const std::string& url) {
  const auto* first = static_cast<item*>(IW_mip_to_ptr((url + "#first").c_str()));
  const auto* values = static_cast<plane*>(IW_mip_to_ptr((url + "#plane").c_str()));
  check(first != nullptr && values != nullptr, "blocks");
  check(IW_rl_acquire(segment) == 0, "reader lock");
  check_values(*first, *values);
  check(std::strcmp(first->notes, "from far away") == 0, "owned text");
  check(first->series.series_len == 3, "length of the owned numbers");
  check(first->series.series_val[0] == UINT64_MAX && first->series.series_val[1] == 2 &&
            first->series.series_val[2] == 4294967296,
        "owned numbers");
  check(first->next->key == 8 && first->next->next == nullptr, "the second");
  check(first->next->outline.kind == GREEN, "the second arm");
  check(std::strcmp(first->next->outline.shape_u.label, "green") == 0, "its text");
  check(IW_rl_release(segment) == 0, "release");
}

}  // namespace

int main(int argc, char** argv) {
  check(argc == 3, "two arguments");
  const IW_handle_t segment = IW_open_segment(argv[2]);
  check(segment != nullptr, "open");
  if (std::strcmp(argv[1], "write") == 0) {
    write_segment(segment);
  } else {
    check_segment(segment, argv[2]);
  }
  check(IW_close_segment(segment) == 0, "close");
}
