/* A model of an ocean's currents, as far as its pattern of memory goes: in each step a vorticity is
 * moved by the currents, and the stream function is found anew from it, by relaxation over red and
 * black points. Relaxing ends when the largest change is small; for this the processes combine
 * their maxima under a lock. Each process has a stretch of rows.
 *
 *   ocean [points a side] [steps] [threads]
 *
 * The program knows that its result is right because one process then computes the same alone, and
 * gets the same bits at each point and the same number of sweeps. */
#include <math.h>
#include <string.h>

#include "parallel.h"

MAIN_ENV

enum { SWEEPS_MAX = 400 };

typedef struct {
  LOCKDEC(lock)
  BARDEC(barrier)
  int processes_seen;
  double largest_change[2]; /* of this sweep, and of the next */
  int sweeps;
} shared;

typedef struct {
  double *stream, *vorticity, *moved;
} ocean;

static shared* common;
static ocean sea;
static size_t side;
static int steps;
static const double small = 1e-4, over_relaxation = 1.6, time_step = 0.05;

/* Of the rows [first, end), the points of one colour. Returns the largest change. */
static double relax(const ocean* all, size_t first, size_t end, size_t colour) {
  double largest = 0;
  for (size_t row = first; row < end; row++) {
    for (size_t column = 1 + (row + colour) % 2; column + 1 < side; column += 2) {
      double* const at = all->stream + row * side + column;
      const double around = (*(at - side) + *(at + side)) + (at[-1] + at[1]);
      const double wanted = 0.25 * (around - all->vorticity[row * side + column]);
      const double change = over_relaxation * (wanted - *at);
      *at += change;
      largest = fmax(largest, fabs(change));
    }
  }
  return largest;
}

/* The vorticity of the next step: moved by the currents, driven by the wind, slowed down. */
static void move(const ocean* all, size_t first, size_t end) {
  for (size_t row = first; row < end; row++) {
    for (size_t column = 1; column + 1 < side; column++) {
      const size_t at = row * side + column;
      const double *const s = all->stream, *const v = all->vorticity;
      const double east = 0.5 * (s[at + side] - s[at - side]);
      const double south = -0.5 * (s[at + 1] - s[at - 1]);
      const double along = east * 0.5 * (v[at + 1] - v[at - 1]);
      const double across = south * 0.5 * (v[at + side] - v[at - side]);
      const double wind = 0.01 * ((double)row / (double)side - 0.5);
      all->moved[at] = v[at] + time_step * (wind - along - across - 0.1 * v[at]);
    }
  }
}

static double combined(double own, int sweep) {
  LOCK(common->lock);
  double* const largest = &common->largest_change[sweep % 2];
  *largest = fmax(*largest, own);
  UNLOCK(common->lock);
  BARRIER(common->barrier);
  return *largest;
}

static void work(void) {
  LOCK(common->lock);
  const size_t me = (size_t)common->processes_seen++;
  UNLOCK(common->lock);
  const size_t all = (size_t)PROCESSES();
  const size_t first = 1 + (side - 2) * me / all, end = 1 + (side - 2) * (me + 1) / all;
  ocean own = sea;
  for (int step = 0; step < steps; step++) {
    move(&own, first, end);
    BARRIER(common->barrier);
    double* const before = own.vorticity;
    own.vorticity = own.moved;
    own.moved = before;
    double change = 1;
    int sweep = 0;
    for (; sweep < SWEEPS_MAX && change > small; sweep++) {
      double largest = relax(&own, first, end, 0);
      BARRIER(common->barrier);
      /* Nobody looks at the other maximum between these two barriers. */
      if (me == 0) common->largest_change[(sweep + 1) % 2] = 0;
      largest = fmax(largest, relax(&own, first, end, 1));
      change = combined(largest, sweep);
    }
    BARRIER(common->barrier);
    if (me == 0) {
      common->sweeps += sweep;
      common->largest_change[0] = common->largest_change[1] = 0;
    }
    BARRIER(common->barrier);
  }
}

/* Returns how many sweeps it took; -1: there is no memory. */
static int alone(ocean* all) {
  double** const fields[] = {&all->stream, &all->vorticity, &all->moved};
  for (int i = 0; i < 3; i++) {
    *fields[i] = calloc(side * side, sizeof(double));
    if (*fields[i] == NULL) return -1;
  }
  int sweeps = 0;
  for (int step = 0; step < steps; step++) {
    move(all, 1, side - 1);
    double* const before = all->vorticity;
    all->vorticity = all->moved;
    all->moved = before;
    double change = 1;
    for (int sweep = 0; sweep < SWEEPS_MAX && change > small; sweep++, sweeps++) {
      change = relax(all, 1, side - 1, 0);
      change = fmax(change, relax(all, 1, side - 1, 1));
    }
  }
  return sweeps;
}

int main(int argc, char** argv) {
  side = argc > 1 ? strtoul(argv[1], NULL, 10) : 130;
  steps = argc > 2 ? atoi(argv[2]) : 5;
  if (side < 3 || side > 8194 || steps < 1) {
    fprintf(stderr, "usage: ocean [3 to 8194 points a side] [steps] [threads]\n");
    return 2;
  }
  MAIN_INITENV(argc > 3 ? atoi(argv[3]) : 4);
  common = G_MALLOC(sizeof *common);
  const size_t bytes = side * side * sizeof(double);
  sea.stream = G_MALLOC(bytes);
  sea.vorticity = G_MALLOC(bytes);
  sea.moved = G_MALLOC(bytes);
  LOCKINIT(common->lock);
  BARINIT(common->barrier);

  double before, after;
  CLOCK(before);
  CREATE(work);
  WAIT_FOR_END();
  CLOCK(after);

  double energy = 0;
  for (size_t i = 0; i < side * side; i++) energy += sea.stream[i] * sea.stream[i];
  printf("ocean: %zu x %zu points, %d steps, %d sweeps, energy %a\n", side, side, steps,
         common->sweeps, energy);
  ocean lonely;
  const int is_right =
      alone(&lonely) == common->sweeps && memcmp(lonely.stream, sea.stream, bytes) == 0;
  puts(is_right ? "right: the bits and the sweeps of one process that computes alone"
                : "WRONG: one process that computes alone gets another result");
  fprintf(stderr, "%d processes, %.3f s\n", PROCESSES(), after - before);
  MAIN_END();
  return !is_right;
}
