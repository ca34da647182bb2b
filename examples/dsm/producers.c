/* Producers and consumers: half of the processes put numbered things into a ring of a few places,
 * the others take them out. A full ring stops the producers and an empty one the consumers, by
 * condition variables. A pause holds all back until the last one has come.
 *
 *   producers [things of each producer] [threads, at least 2]
 *
 * The program knows that its result is right because each thing has been taken once, and because
 * each consumer has taken the things of one producer in the order in which they were made. */
#include <string.h>

#include "parallel.h"

MAIN_ENV

enum { PLACES = 8, PROCESSES_MAX = 64 };

typedef struct {
  int producer;
  int number;
} thing;

typedef struct {
  LOCKDEC(lock)
  CONDVARDEC(not_full)
  CONDVARDEC(not_empty)
  PAUSEDEC(all_are_here)
  int processes_seen;
  int producing; /* how many still make things */
  uint64_t put, taken;
  thing ring[PLACES];
  int out_of_order;
} shared;

static shared* common;
static unsigned char* times_taken; /* of each thing */
static int things;

static void produce(int me) {
  for (int number = 0; number < things; number++) {
    LOCK(common->lock);
    while (common->put - common->taken == PLACES) CONDVARWAIT(common->not_full, common->lock);
    common->ring[common->put++ % PLACES] = (thing){me, number};
    CONDVARSIGNAL(common->not_empty);
    UNLOCK(common->lock);
  }
  LOCK(common->lock);
  if (--common->producing == 0) CONDVARBCAST(common->not_empty);
  UNLOCK(common->lock);
}

static void consume(void) {
  int last[PROCESSES_MAX];
  for (int i = 0; i < PROCESSES_MAX; i++) last[i] = -1;
  LOCK(common->lock);
  for (;;) {
    while (common->put == common->taken && common->producing > 0) {
      CONDVARWAIT(common->not_empty, common->lock);
    }
    if (common->put == common->taken) break;
    const thing taken = common->ring[common->taken++ % PLACES];
    times_taken[(size_t)taken.producer * (size_t)things + (size_t)taken.number]++;
    CONDVARSIGNAL(common->not_full);
    common->out_of_order += taken.number <= last[taken.producer];
    last[taken.producer] = taken.number;
    UNLOCK(common->lock);
    LOCK(common->lock);
  }
  UNLOCK(common->lock);
}

static void work(void) {
  LOCK(common->lock);
  const int me = common->processes_seen++;
  UNLOCK(common->lock);
  if (me == PROCESSES() - 1) SETPAUSE(common->all_are_here);
  WAITPAUSE(common->all_are_here);
  if (me < PROCESSES() / 2) {
    produce(me);
  } else {
    consume();
  }
}

int main(int argc, char** argv) {
  things = argc > 1 ? atoi(argv[1]) : 1000;
  MAIN_INITENV(argc > 2 ? atoi(argv[2]) : 4);
  const int producers = PROCESSES() / 2;
  if (things < 1 || PROCESSES() < 2 || PROCESSES() > PROCESSES_MAX) {
    fprintf(stderr, "usage: producers [things] [threads]; it takes 2 to %d processes\n",
            PROCESSES_MAX);
    return 2;
  }
  common = G_MALLOC(sizeof *common);
  times_taken = G_MALLOC((size_t)producers * (size_t)things);
  LOCKINIT(common->lock);
  CONDVARINIT(common->not_full);
  CONDVARINIT(common->not_empty);
  PAUSEINIT(common->all_are_here);
  common->producing = producers;

  double before, after;
  CLOCK(before);
  CREATE(work);
  WAIT_FOR_END();
  CLOCK(after);

  int wrong = common->out_of_order;
  for (size_t i = 0; i < (size_t)producers * (size_t)things; i++) wrong += times_taken[i] != 1;
  printf("producers: %d with %d things each, %d consumers\n", producers, things,
         PROCESSES() - producers);
  if (wrong == 0) {
    printf("right: each of %llu things was taken once, those of a producer in their order\n",
           (unsigned long long)common->taken);
  } else {
    printf("WRONG: %d things were lost, taken twice, or out of order\n", wrong);
  }
  fprintf(stderr, "%d processes, %.3f s\n", PROCESSES(), after - before);
  MAIN_END();
  return wrong != 0;
}
