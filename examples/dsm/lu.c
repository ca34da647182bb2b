/* A matrix as the product of a lower and an upper triangle, by blocks. Blocks are dealt to
 * processes in turns in both directions. The matrix lies in one of two ways:
 *
 *   rows    row by row in one piece. A block is many short stretches on many pages, and each page
 *           has pieces of blocks of several processes ("non-contiguous", as in the paper, PIPE).
 *   blocks  block by block, those of a process in one piece, whose home is the process.
 *
 *   lu [rows, a multiple of the block] [block] [threads] [rows or blocks]
 *
 * The program knows that its result is right because one process then factors a copy of the matrix
 * alone, by the same blocks, and gets the same bits; and because L U is the matrix again. */
#include <math.h>
#include <string.h>

#include "parallel.h"

MAIN_ENV

typedef struct {
  LOCKDEC(lock)
  BARDEC(barrier)
  int processes_seen;
} shared;

static shared* common;
static double* matrix;
static size_t rows, block;
static size_t count;  /* of blocks a side */
static size_t stride; /* from a row of a block to the next one, in numbers */
static size_t* place; /* of each block in the matrix, in numbers */

/* The processes as a grid, as square as can be. */
static size_t grid_rows(void) {
  const size_t all = (size_t)PROCESSES();
  size_t root = 1;
  for (size_t i = 1; i * i <= all; i++) {
    if (all % i == 0) root = i;
  }
  return root;
}

static size_t owner(size_t i, size_t j) {
  const size_t high = grid_rows(), wide = (size_t)PROCESSES() / high;
  return (j % wide) + (i % high) * wide;
}

static double* block_at(double* all, size_t i, size_t j) { return all + place[i * count + j]; }

static double* element(double* all, size_t i, size_t j) {
  return block_at(all, i / block, j / block) + i % block * stride + j % block;
}

/* Both return the numbers of the whole matrix, gaps among them. */
static size_t lay_out_rows(void) {
  stride = rows;
  for (size_t i = 0; i < count * count; i++) {
    place[i] = i / count * block * rows + i % count * block;
  }
  return rows * rows;
}

static size_t lay_out_blocks(void) {
  const size_t page = 65536 / sizeof(double); /* the largest: no page has blocks of two */
  size_t end = 0;
  stride = block;
  for (size_t process = 0; process < (size_t)PROCESSES(); process++) {
    for (size_t i = 0; i < count * count; i++) {
      if (owner(i / count, i % count) != process) continue;
      place[i] = end;
      end += block * block;
    }
    end = (end + page - 1) / page * page;
  }
  return end;
}

/* The stretches of lay_out_blocks, to their processes. */
static void choose_homes(size_t numbers) {
  size_t end = numbers;
  for (size_t process = (size_t)PROCESSES(); process-- > 0;) {
    size_t first = end;
    for (size_t i = 0; i < count * count; i++) {
      if (owner(i / count, i % count) == process && place[i] < first) first = place[i];
    }
    if (first < end) G_HOME(matrix + first, (end - first) * sizeof(double), (int)process);
    end = first;
  }
}

static void factor_diagonal(double* at) {
  for (size_t k = 0; k < block; k++) {
    for (size_t i = k + 1; i < block; i++) {
      at[i * stride + k] /= at[k * stride + k];
      const double factor = at[i * stride + k];
      for (size_t j = k + 1; j < block; j++) at[i * stride + j] -= factor * at[k * stride + j];
    }
  }
}

/* Below the diagonal: times the inverse of the diagonal block's upper triangle. */
static void divide_below(double* at, const double* diagonal) {
  for (size_t i = 0; i < block; i++) {
    for (size_t k = 0; k < block; k++) {
      at[i * stride + k] /= diagonal[k * stride + k];
      const double factor = at[i * stride + k];
      for (size_t j = k + 1; j < block; j++)
        at[i * stride + j] -= factor * diagonal[k * stride + j];
    }
  }
}

/* Right of the diagonal: the inverse of its lower triangle times the block. */
static void divide_right(double* at, const double* diagonal) {
  for (size_t k = 0; k < block; k++) {
    for (size_t i = k + 1; i < block; i++) {
      const double factor = diagonal[i * stride + k];
      for (size_t j = 0; j < block; j++) at[i * stride + j] -= factor * at[k * stride + j];
    }
  }
}

static void subtract_product(double* at, const double* left, const double* above) {
  for (size_t i = 0; i < block; i++) {
    for (size_t k = 0; k < block; k++) {
      const double factor = left[i * stride + k];
      for (size_t j = 0; j < block; j++) at[i * stride + j] -= factor * above[k * stride + j];
    }
  }
}

/* The blocks of `me`; all blocks if `is_alone`. */
static void factor(double* all, size_t me, int is_alone) {
  for (size_t k = 0; k < count; k++) {
    double* const diagonal = block_at(all, k, k);
    if (is_alone || owner(k, k) == me) factor_diagonal(diagonal);
    if (!is_alone) BARRIER(common->barrier);
    for (size_t i = k + 1; i < count; i++) {
      if (is_alone || owner(i, k) == me) divide_below(block_at(all, i, k), diagonal);
      if (is_alone || owner(k, i) == me) divide_right(block_at(all, k, i), diagonal);
    }
    if (!is_alone) BARRIER(common->barrier);
    for (size_t i = k + 1; i < count; i++) {
      for (size_t j = k + 1; j < count; j++) {
        if (!is_alone && owner(i, j) != me) continue;
        subtract_product(block_at(all, i, j), block_at(all, i, k), block_at(all, k, j));
      }
    }
  }
}

static void work(void) {
  LOCK(common->lock);
  const size_t me = (size_t)PROCESS_NUMBER(common->processes_seen);
  UNLOCK(common->lock);
  factor(matrix, me, 0);
}

static void fill(double* all) {
  uint32_t random = 1;
  for (size_t i = 0; i < rows * rows; i++) {
    random = random * 1664525u + 1013904223u;
    *element(all, i / rows, i % rows) = (double)(random >> 8) / (1 << 24);
  }
  /* Then no pivot is small. */
  for (size_t i = 0; i < rows; i++) *element(all, i, i) += 10 * (double)rows;
}

/* The largest difference of (L U) x and A x, for x of ones, compared with A x. */
static double error_of_product(double* original) {
  double* const upper = malloc(rows * sizeof(double));
  double worst = 0;
  if (upper == NULL) return 1;
  for (size_t i = 0; i < rows; i++) {
    upper[i] = 0;
    for (size_t j = i; j < rows; j++) upper[i] += *element(matrix, i, j);
  }
  for (size_t i = 0; i < rows; i++) {
    double product = upper[i], wanted = 0;
    for (size_t j = 0; j < i; j++) product += *element(matrix, i, j) * upper[j];
    for (size_t j = 0; j < rows; j++) wanted += *element(original, i, j);
    worst = fmax(worst, fabs(product - wanted) / fabs(wanted));
  }
  free(upper);
  return worst;
}

int main(int argc, char** argv) {
  rows = argc > 1 ? strtoul(argv[1], NULL, 10) : 256;
  block = argc > 2 ? strtoul(argv[2], NULL, 10) : 16;
  const int is_by_blocks = argc > 4 && strcmp(argv[4], "blocks") == 0;
  const int is_known = argc <= 4 || is_by_blocks || strcmp(argv[4], "rows") == 0;
  if (block < 1 || rows < block || rows % block != 0 || rows > 8192 || !is_known) {
    fprintf(stderr,
            "usage: lu [rows, a multiple of the block] [block] [threads] [rows or blocks]\n");
    return 2;
  }
  count = rows / block;
  place = malloc(count * count * sizeof *place);
  if (place == NULL) return 1;
  MAIN_INITENV(argc > 3 ? atoi(argv[3]) : 4);
  const size_t numbers = is_by_blocks ? lay_out_blocks() : lay_out_rows();
  common = G_MALLOC(sizeof *common);
  matrix = G_MALLOC(numbers * sizeof(double));
  if (is_by_blocks) choose_homes(numbers);
  LOCKINIT(common->lock);
  BARINIT(common->barrier);
  fill(matrix);

  double before, after;
  CLOCK(before);
  CREATE(work);
  WAIT_FOR_END();
  CLOCK(after);

  double* const alone = calloc(numbers, sizeof(double));
  if (alone == NULL) return 1;
  fill(alone);
  const double error = error_of_product(alone);
  factor(alone, 0, 1);
  const int is_same = memcmp(alone, matrix, numbers * sizeof(double)) == 0;
  free(alone);
  double sum = 0;
  for (size_t i = 0; i < rows * rows; i++) sum += *element(matrix, i / rows, i % rows);
  printf("lu: %zu x %zu, blocks of %zu, sum %a\n", rows, rows, block, sum);
  free(place);
  if (is_same && error < 1e-10) {
    printf("right: the bits that one process computes alone, and L U is the matrix\n");
  } else {
    printf("WRONG: %s bits; L U differs from the matrix by %g\n", is_same ? "the same" : "other",
           error);
  }
  fprintf(stderr, "%d processes, %.3f s\n", PROCESSES(), after - before);
  MAIN_END();
  return !(is_same && error < 1e-10);
}
