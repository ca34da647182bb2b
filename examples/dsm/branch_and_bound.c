/* The shortest round trip through some towns, by branch and bound. Beginnings of trips lie in a
 * shared queue, and processes take them out. A process puts longer beginnings into the queue, or
 * tries all ends of a beginning that is long enough. It gives up a beginning that is longer already
 * than the shortest trip that any process has found. A process that finds it empty sleeps on a
 * condition variable, until there is more, or all sleep.
 *
 *   branch_and_bound [towns, 4 to 14] [threads]
 *
 * The program knows that its result is right because one process finds the same length in another
 * way: by the shortest ways through each set of towns (Bellman, Held and Karp). */
#include <string.h>

#include "parallel.h"

MAIN_ENV

enum { TOWNS_MAX = 14, QUEUE_MAX = 4096, SHARED_DEPTH = 4 };

typedef struct {
  int towns; /* that the trip has */
  int length;
  unsigned char at[TOWNS_MAX];
} trip;

typedef struct {
  LOCKDEC(lock)
  CONDVARDEC(more)
  int processes_seen;
  int count; /* of trips in the queue */
  int asleep;
  int is_done;
  int shortest;
  int taken[64]; /* by each process */
  trip queue[QUEUE_MAX];
} shared;

static shared* common;
static int towns;
static int distance[TOWNS_MAX][TOWNS_MAX]; /* set before CREATE, so all have it */

static void place_towns(void) {
  uint32_t random = 12345;
  int x[TOWNS_MAX], y[TOWNS_MAX];
  for (int i = 0; i < towns; i++) {
    random = random * 1664525u + 1013904223u;
    x[i] = (int)(random >> 22);
    random = random * 1664525u + 1013904223u;
    y[i] = (int)(random >> 22);
  }
  for (int i = 0; i < towns; i++) {
    for (int k = 0; k < towns; k++) distance[i][k] = abs(x[i] - x[k]) + abs(y[i] - y[k]);
  }
}

static int has(const trip* begun, int town) {
  for (int i = 0; i < begun->towns; i++) {
    if (begun->at[i] == town) return 1;
  }
  return 0;
}

static trip longer(const trip* begun, int town) {
  trip next = *begun;
  next.length += distance[begun->at[begun->towns - 1]][town];
  next.at[next.towns++] = (unsigned char)town;
  return next;
}

/* The shortest of the trips that begin so, or `best`. */
static int shortest_end(const trip* begun, int best) {
  if (begun->length >= best) return best;
  if (begun->towns == towns) {
    const int whole = begun->length + distance[begun->at[towns - 1]][begun->at[0]];
    return whole < best ? whole : best;
  }
  for (int town = 1; town < towns; town++) {
    if (has(begun, town)) continue;
    const trip next = longer(begun, town);
    best = shortest_end(&next, best);
  }
  return best;
}

/* Has the lock. 0: all trips are done. */
static int take(trip* taken, int me) {
  while (common->count == 0 && !common->is_done) {
    if (++common->asleep == PROCESSES()) {
      common->is_done = 1;
      CONDVARBCAST(common->more);
      break;
    }
    CONDVARWAIT(common->more, common->lock);
    common->asleep--;
  }
  if (common->count == 0) return 0;
  *taken = common->queue[--common->count];
  common->taken[me]++;
  return 1;
}

/* Has the lock. The queue takes the trips that are longer by one town. */
static void put_longer(const trip* begun) {
  for (int town = towns - 1; town > 0; town--) {
    if (has(begun, town)) continue;
    common->queue[common->count++] = longer(begun, town);
    CONDVARSIGNAL(common->more);
  }
}

static void work(void) {
  LOCK(common->lock);
  const int me = common->processes_seen++;
  trip begun;
  while (take(&begun, me)) {
    if (begun.length >= common->shortest) continue;
    if (begun.towns < SHARED_DEPTH && common->count + towns <= QUEUE_MAX) {
      put_longer(&begun);
      continue;
    }
    const int known = common->shortest;
    UNLOCK(common->lock);
    const int found = shortest_end(&begun, known);
    LOCK(common->lock);
    if (found < common->shortest) common->shortest = found;
  }
  UNLOCK(common->lock);
}

/* By the sets of towns that a way has visited, each with its last town. Town 0 begins them all. */
static int shortest_by_sets(void) {
  const size_t sets = (size_t)1 << (towns - 1);
  int* way = malloc(sets * (size_t)towns * sizeof *way);
  if (way == NULL) return -1;
  for (size_t set = 1; set < sets; set++) {
    for (int last = 1; last < towns; last++) {
      const size_t own = (size_t)1 << (last - 1);
      int best = 1 << 30;
      if (set == own) best = distance[0][last];
      for (int before = 1; before < towns && (set & own); before++) {
        if (before == last || !(set >> (before - 1) & 1)) continue;
        const int through = way[(set ^ own) * (size_t)towns + (size_t)before];
        if (through + distance[before][last] < best) best = through + distance[before][last];
      }
      way[set * (size_t)towns + (size_t)last] = best;
    }
  }
  int best = 1 << 30;
  for (int last = 1; last < towns; last++) {
    const int whole = way[(sets - 1) * (size_t)towns + (size_t)last] + distance[last][0];
    if (whole < best) best = whole;
  }
  free(way);
  return best;
}

int main(int argc, char** argv) {
  towns = argc > 1 ? atoi(argv[1]) : 11;
  if (towns < 4 || towns > TOWNS_MAX) {
    fprintf(stderr, "usage: branch_and_bound [4 to %d towns] [threads]\n", TOWNS_MAX);
    return 2;
  }
  MAIN_INITENV(argc > 2 ? atoi(argv[2]) : 4);
  place_towns();
  common = G_MALLOC(sizeof *common);
  LOCKINIT(common->lock);
  CONDVARINIT(common->more);
  common->shortest = 1 << 30;
  common->count = 1;
  common->queue[0].towns = 1;

  double before, after;
  CLOCK(before);
  CREATE(work);
  WAIT_FOR_END();
  CLOCK(after);

  const int expected = shortest_by_sets();
  const int is_right = common->shortest == expected;
  printf("branch_and_bound: %d towns, the shortest round trip has length %d\n", towns,
         common->shortest);
  printf("%s: by the sets of towns the shortest has length %d\n", is_right ? "right" : "WRONG",
         expected);
  fprintf(stderr, "%d processes, %.3f s; beginnings of trips taken:", PROCESSES(), after - before);
  for (int i = 0; i < PROCESSES() && i < 64; i++) fprintf(stderr, " %d", common->taken[i]);
  fprintf(stderr, "\n");
  MAIN_END();
  return !is_right;
}
