/* Heat in a square plate, by Jacobi's method: in each step a point becomes the mean of its four
 * neighbours. The plate's upper edge is hot. Each process has a stretch of rows, and reads the
 * rows at its neighbours' edges: two pages or so a step.
 *
 *   jacobi [points a side] [steps] [threads]
 *
 * The program knows that its result is right because one process then does the same steps alone,
 * in memory of its own, and gets the same bits at each point. */
#include <stddef.h>
#include <string.h>

#include "parallel.h"

MAIN_ENV

typedef struct {
  LOCKDEC(lock)
  BARDEC(barrier)
  int processes_seen;
} shared;

static shared* common;
static double* grid[2];
static size_t side;
static int steps;

static void step_rows(double* to, const double* from, size_t first, size_t end) {
  for (size_t row = first; row < end; row++) {
    for (size_t column = 1; column + 1 < side; column++) {
      const double* at = from + row * side + column;
      to[row * side + column] = 0.25 * ((at[-1] + at[1]) + (at[-(ptrdiff_t)side] + at[side]));
    }
  }
}

static void heat(double* points) {
  for (size_t column = 0; column < side; column++) points[column] = 100.0;
}

static void work(void) {
  LOCK(common->lock);
  const size_t me = (size_t)PROCESS_NUMBER(common->processes_seen);
  UNLOCK(common->lock);
  const size_t all = (size_t)PROCESSES();
  const size_t first = 1 + (side - 2) * me / all;
  const size_t end = 1 + (side - 2) * (me + 1) / all;
  for (int step = 0; step < steps; step++) {
    step_rows(grid[(step + 1) % 2], grid[step % 2], first, end);
    BARRIER(common->barrier);
  }
}

/* Of the points that one process computes alone. */
static int differences(void) {
  double* alone[2];
  for (int i = 0; i < 2; i++) {
    alone[i] = calloc(side * side, sizeof(double));
    if (alone[i] == NULL) return -1;
    heat(alone[i]);
  }
  for (int step = 0; step < steps; step++) {
    step_rows(alone[(step + 1) % 2], alone[step % 2], 1, side - 1);
  }
  int count = 0;
  for (size_t i = 0; i < side * side; i++) {
    count += memcmp(&alone[steps % 2][i], &grid[steps % 2][i], sizeof(double)) != 0;
  }
  free(alone[0]);
  free(alone[1]);
  return count;
}

int main(int argc, char** argv) {
  side = argc > 1 ? strtoul(argv[1], NULL, 10) : 512;
  steps = argc > 2 ? atoi(argv[2]) : 50;
  if (side < 3 || side > 16384 || steps < 1) {
    fprintf(stderr, "usage: jacobi [3 to 16384 points a side] [steps] [threads]\n");
    return 2;
  }
  MAIN_INITENV(argc > 3 ? atoi(argv[3]) : 4);
  common = G_MALLOC(sizeof *common);
  LOCKINIT(common->lock);
  BARINIT(common->barrier);
  for (int i = 0; i < 2; i++) {
    grid[i] = G_MALLOC(side * side * sizeof(double));
    G_BLOCKS(grid[i], side * side * sizeof(double));
    heat(grid[i]);
  }

  double before, after;
  CLOCK(before);
  CREATE(work);
  WAIT_FOR_END();
  CLOCK(after);

  double sum = 0;
  for (size_t i = 0; i < side * side; i++) sum += grid[steps % 2][i];
  printf("jacobi: %zu x %zu points, %d steps, sum %a\n", side, side, steps, sum);
  const int wrong = differences();
  fprintf(stderr, "%d processes, %.3f s\n", PROCESSES(), after - before);
  if (wrong == 0) {
    printf("right: each point has the bits that one process computes alone\n");
  } else {
    printf("WRONG: %d points differ from what one process computes alone\n", wrong);
  }
  MAIN_END();
  return wrong != 0;
}
