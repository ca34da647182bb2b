/* Bodies that attract each other, by the tree of Barnes and Hut: a cube that holds bodies is cut
 * into eight, again and again, until each holds one. A cube that is far away attracts as one body.
 *
 * The 512 cubes of the third cut are dealt to the processes, in such a way that each has about as
 * many bodies. A process builds the trees below its cubes, and moves the bodies in them. It reads
 * those parts of the other processes' trees that its bodies come near to.
 *
 *   barnes [bodies] [steps] [threads]
 *
 * The program knows that its result is right because one process then computes the same alone, and
 * gets the same bits for each body; and because the forces on some bodies are close to the sums
 * over all other bodies. */
#include <math.h>
#include <string.h>

#include "parallel.h"

MAIN_ENV

enum { TOP_CUTS = 3, CUBES = 512, CELLS_A_BODY = 4, DEPTH_MAX = 60, BODIES_MAX = 1 << 22 };

typedef struct {
  double at[3], speed[3], pull[3], mass;
} body;

/* A child is 0: nothing; above 0: a cell; below 0: a body, counted from -1 on. */
typedef struct {
  int child[8];
  double mass, at[3];
} cell;

/* One process's view; `bodies`, `cells` and `roots` may be shared. */
typedef struct {
  body* bodies;
  cell* cells;
  int* roots; /* of the cubes */
  size_t me, all;
  double half; /* of the side of the cube that holds all */
  unsigned short* cube_of;
  size_t first_cube, end_cube;
  int next_cell;
  cell top[(8 * 8 * 8 - 1) / 7]; /* the first three cuts; the children of the last are cubes */
} part;

typedef struct {
  LOCKDEC(lock)
  BARDEC(barrier)
  int processes_seen;
} shared;

static shared* common;
static part whole;
static size_t body_count;
static int steps;
static const double opening = 0.6, softening = 0.05, time_step = 0.01;

static double random_number(uint32_t* random) {
  *random = *random * 1664525u + 1013904223u;
  return (double)(*random >> 8) / (1 << 24);
}

/* A ball that is dense in the middle, and turns. */
static void place_bodies(body* bodies) {
  uint32_t random = 7;
  for (size_t i = 0; i < body_count; i++) {
    double square = 2;
    while (square > 1 || square < 1e-6) {
      square = 0;
      for (int k = 0; k < 3; k++) {
        bodies[i].at[k] = 2 * random_number(&random) - 1;
        square += bodies[i].at[k] * bodies[i].at[k];
      }
    }
    for (int k = 0; k < 3; k++) bodies[i].at[k] *= square;
    bodies[i].speed[0] = -0.5 * bodies[i].at[1];
    bodies[i].speed[1] = 0.5 * bodies[i].at[0];
    bodies[i].mass = 1.0 / (double)body_count;
  }
}

/* Which eighth of the cube around `centre`; and the centre moves there. */
static int eighth(const double* at, double* centre, double half) {
  int which = 0;
  for (int k = 0; k < 3; k++) {
    const int is_upper = at[k] >= centre[k];
    which |= is_upper << k;
    centre[k] += is_upper ? 0.5 * half : -0.5 * half;
  }
  return which;
}

/* Each process looks at all bodies: in which cube they are, and which cubes are its own. */
static void deal_cubes(part* own) {
  size_t counts[CUBES] = {0};
  own->half = 0;
  for (size_t i = 0; i < body_count; i++) {
    for (int k = 0; k < 3; k++) own->half = fmax(own->half, fabs(own->bodies[i].at[k]));
  }
  own->half *= 1.0001;
  for (size_t i = 0; i < body_count; i++) {
    double centre[3] = {0, 0, 0}, half = own->half;
    int cube = 0;
    for (int cut = 0; cut < TOP_CUTS; cut++, half /= 2) {
      cube = cube * 8 + eighth(own->bodies[i].at, centre, half);
    }
    own->cube_of[i] = (unsigned short)cube;
    counts[cube]++;
  }
  size_t before = 0;
  own->first_cube = own->end_cube = CUBES;
  for (size_t cube = 0; cube < CUBES; cube++) {
    /* Empty cubes behind the last body are the last process's. */
    const size_t owner = before < body_count ? before * own->all / body_count : own->all - 1;
    if (owner >= own->me && own->first_cube == CUBES) own->first_cube = cube;
    if (owner > own->me && own->end_cube == CUBES) own->end_cube = cube;
    before += counts[cube];
  }
}

static int new_cell(part* own) {
  const size_t end = body_count * CELLS_A_BODY * (own->me + 1);
  if ((size_t)own->next_cell >= end) {
    fprintf(stderr, "barnes: too many bodies lie close together\n");
    exit(1);
  }
  memset(&own->cells[own->next_cell], 0, sizeof(cell));
  return own->next_cell++;
}

static void insert(part* own, int* place, size_t which, double* centre, double half, int depth) {
  while (*place > 0) {
    const int next = eighth(own->bodies[which].at, centre, half);
    place = &own->cells[*place].child[next];
    half /= 2;
    depth++;
  }
  if (*place == 0) {
    *place = -(int)which - 1;
    return;
  }
  if (depth > DEPTH_MAX) {
    fprintf(stderr, "barnes: two bodies lie at the same place\n");
    exit(1);
  }
  const size_t other = (size_t)(-*place - 1);
  double its_centre[3];
  memcpy(its_centre, centre, sizeof its_centre);
  const int made = new_cell(own);
  own->cells[made].child[eighth(own->bodies[other].at, its_centre, half)] = -(int)other - 1;
  *place = made;
  insert(own, place, which, centre, half, depth);
}

static void add_child(const part* own, cell* to, int child) {
  if (child == 0) return;
  const double mass = child > 0 ? own->cells[child].mass : own->bodies[-child - 1].mass;
  const double* const at = child > 0 ? own->cells[child].at : own->bodies[-child - 1].at;
  to->mass += mass;
  for (int k = 0; k < 3; k++) to->at[k] += mass * at[k];
}

static void weigh(part* own, int place) {
  if (place <= 0) return;
  cell* const here = &own->cells[place];
  for (int i = 0; i < 8; i++) {
    weigh(own, here->child[i]);
    add_child(own, here, here->child[i]);
  }
  for (int k = 0; k < 3; k++) here->at[k] /= here->mass;
}

static void build(part* own) {
  own->next_cell = (int)(body_count * CELLS_A_BODY * own->me) + 1;
  for (size_t cube = own->first_cube; cube < own->end_cube; cube++) own->roots[cube] = 0;
  for (size_t i = 0; i < body_count; i++) {
    const size_t cube = own->cube_of[i];
    if (cube < own->first_cube || cube >= own->end_cube) continue;
    double centre[3] = {0, 0, 0}, half = own->half;
    for (int cut = 0; cut < TOP_CUTS; cut++, half /= 2) eighth(own->bodies[i].at, centre, half);
    insert(own, &own->roots[cube], i, centre, half, TOP_CUTS);
  }
  for (size_t cube = own->first_cube; cube < own->end_cube; cube++) weigh(own, own->roots[cube]);
}

/* The cells above the cubes; each process has its own, of the same bits. Cell i has the children
 * 8 i + 1 to 8 i + 8. */
static void build_top(part* own) {
  const int last_row = (8 * 8 - 1) / 7;
  for (int i = (int)(sizeof own->top / sizeof *own->top) - 1; i >= 0; i--) {
    cell* const here = &own->top[i];
    memset(here, 0, sizeof *here);
    for (int k = 0; k < 8; k++) {
      if (i >= last_row) {
        add_child(own, here, own->roots[(i - last_row) * 8 + k]);
        continue;
      }
      const cell* const child = &own->top[8 * i + 1 + k];
      here->mass += child->mass;
      for (int d = 0; d < 3; d++) here->at[d] += child->mass * child->at[d];
    }
    for (int d = 0; d < 3 && here->mass > 0; d++) here->at[d] /= here->mass;
  }
}

/* Adds the pull of a mass; 0: it is too near for its size. */
static int pull(body* on, double mass, const double* at, double side) {
  double away[3], square = 0;
  for (int k = 0; k < 3; k++) {
    away[k] = at[k] - on->at[k];
    square += away[k] * away[k];
  }
  if (side > 0 && side * side > opening * opening * square) return 0;
  square += softening * softening;
  const double strength = mass / (square * sqrt(square));
  for (int k = 0; k < 3; k++) on->pull[k] += strength * away[k];
  return 1;
}

static void pull_by_tree(const part* own, body* on, size_t self, int place, double side) {
  if (place == 0 || place == -(int)self - 1) return;
  if (place < 0) {
    const body* const other = &own->bodies[-place - 1];
    pull(on, other->mass, other->at, 0);
    return;
  }
  const cell* const here = &own->cells[place];
  if (pull(on, here->mass, here->at, side)) return;
  for (int i = 0; i < 8; i++) pull_by_tree(own, on, self, here->child[i], side / 2);
}

static void pull_by_top(const part* own, body* on, size_t self, int index, double side) {
  const int last_row = (8 * 8 - 1) / 7;
  const cell* const here = &own->top[index];
  if (here->mass <= 0 || pull(on, here->mass, here->at, side)) return;
  for (int i = 0; i < 8; i++) {
    if (index < last_row) {
      pull_by_top(own, on, self, 8 * index + 1 + i, side / 2);
    } else {
      pull_by_tree(own, on, self, own->roots[(index - last_row) * 8 + i], side / 2);
    }
  }
}

static int is_mine(const part* own, size_t which) {
  return own->cube_of[which] >= own->first_cube && own->cube_of[which] < own->end_cube;
}

static void meet(int is_alone) {
  if (!is_alone) BARRIER(common->barrier);
}

static void run(part* own, int is_alone) {
  for (int step = 0; step < steps; step++) {
    deal_cubes(own);
    build(own);
    meet(is_alone);
    build_top(own);
    for (size_t i = 0; i < body_count; i++) {
      if (!is_mine(own, i)) continue;
      body moved = own->bodies[i];
      memset(moved.pull, 0, sizeof moved.pull);
      pull_by_top(own, &moved, i, 0, 2 * own->half);
      memcpy(own->bodies[i].pull, moved.pull, sizeof moved.pull);
    }
    meet(is_alone);
    for (size_t i = 0; i < body_count; i++) {
      if (!is_mine(own, i)) continue;
      body* const moved = &own->bodies[i];
      for (int k = 0; k < 3; k++) {
        moved->speed[k] += time_step * moved->pull[k];
        moved->at[k] += time_step * moved->speed[k];
      }
    }
    meet(is_alone);
  }
}

static void work(void) {
  part* const own = malloc(sizeof *own);
  if (own == NULL) exit(1);
  LOCK(common->lock);
  *own = whole;
  own->me = (size_t)common->processes_seen++;
  UNLOCK(common->lock);
  own->all = (size_t)PROCESSES();
  own->cube_of = malloc(body_count * sizeof *own->cube_of);
  if (own->cube_of == NULL) exit(1);
  run(own, 0);
  free(own->cube_of);
  free(own);
}

/* Of the forces on some bodies, compared with the sums over all others. */
static double error_of_forces(part* own) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < body_count; i += body_count / 64 + 1) {
    body exact = own->bodies[i], tree = own->bodies[i];
    memset(exact.pull, 0, sizeof exact.pull);
    memset(tree.pull, 0, sizeof tree.pull);
    pull_by_top(own, &tree, i, 0, 2 * own->half);
    for (size_t k = 0; k < body_count; k++) {
      if (k != i) pull(&exact, own->bodies[k].mass, own->bodies[k].at, 0);
    }
    for (int k = 0; k < 3; k++) {
      difference += (exact.pull[k] - tree.pull[k]) * (exact.pull[k] - tree.pull[k]);
      size += exact.pull[k] * exact.pull[k];
    }
  }
  return sqrt(difference / size);
}

static int is_as_alone(void) {
  part* const alone = calloc(1, sizeof *alone);
  if (alone == NULL) return 0;
  alone->all = 1;
  alone->bodies = calloc(body_count, sizeof *alone->bodies);
  alone->cells = calloc(body_count * CELLS_A_BODY + 1, sizeof *alone->cells);
  alone->roots = calloc(CUBES, sizeof *alone->roots);
  alone->cube_of = malloc(body_count * sizeof *alone->cube_of);
  if (!alone->bodies || !alone->cells || !alone->roots || !alone->cube_of) return 0;
  place_bodies(alone->bodies);
  run(alone, 1);
  const int is_same = memcmp(alone->bodies, whole.bodies, body_count * sizeof *alone->bodies) == 0;
  deal_cubes(alone);
  build(alone);
  build_top(alone);
  const double error = error_of_forces(alone);
  if (!is_same) printf("other bits than one process that computes alone\n");
  if (error > 0.02) printf("forces are wrong by %g\n", error);
  return is_same && error <= 0.02;
}

int main(int argc, char** argv) {
  body_count = argc > 1 ? strtoul(argv[1], NULL, 10) : 2048;
  steps = argc > 2 ? atoi(argv[2]) : 2;
  if (body_count < 8 || body_count > BODIES_MAX || steps < 1) {
    fprintf(stderr, "usage: barnes [8 to %d bodies] [steps] [threads]\n", BODIES_MAX);
    return 2;
  }
  MAIN_INITENV(argc > 3 ? atoi(argv[3]) : 4);
  common = G_MALLOC(sizeof *common);
  whole.bodies = G_MALLOC(body_count * sizeof *whole.bodies);
  whole.cells = G_MALLOC((body_count * CELLS_A_BODY * (size_t)PROCESSES() + 1) * sizeof(cell));
  whole.roots = G_MALLOC(CUBES * sizeof *whole.roots);
  LOCKINIT(common->lock);
  BARINIT(common->barrier);
  place_bodies(whole.bodies);

  double before, after;
  CLOCK(before);
  CREATE(work);
  WAIT_FOR_END();
  CLOCK(after);

  double sum = 0;
  for (size_t i = 0; i < body_count; i++) sum += whole.bodies[i].at[0] + whole.bodies[i].speed[1];
  printf("barnes: %zu bodies, %d steps, sum %a\n", body_count, steps, sum);
  const int is_right = is_as_alone();
  puts(is_right ? "right: the bits that one process computes alone, and forces as by all pairs"
                : "WRONG: see the line before");
  fprintf(stderr, "%d processes, %.3f s\n", PROCESSES(), after - before);
  MAIN_END();
  return !is_right;
}
