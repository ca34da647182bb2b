/* Two threads: what bench/dsm/micro.cc measures of two ranks, as far as threads have it. With an
 * argument: by how much two threads that only compute are faster than one. Prints medians in
 * microseconds, or the factor. bench/dsm.py starts it. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TIMES = 2000, ROUNDS = 9 };
static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_passed = PTHREAD_COND_INITIALIZER;
static int turn;

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static void meet(int me) {
  (void)me;
  pthread_barrier_wait(&barrier);
}
static void lock_alone(int me) {
  if (me != 0) return;
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}
/* Each lets the other one in. */
static void pass_lock(int me) {
  pthread_mutex_lock(&mutex);
  while (turn != me) pthread_cond_wait(&is_passed, &mutex);
  turn = 1 - me;
  pthread_cond_signal(&is_passed);
  pthread_mutex_unlock(&mutex);
}

static const struct {
  const char* name;
  void (*work)(int me);
  double operations; /* in one call of each */
} cases[] = {
    {"barrier, both poll", meet, 1},
    {"lock that was here, and unlock", lock_alone, 1},
    {"lock passed, the owner waits in a call", pass_lock, 2},
};
enum { CASES = sizeof cases / sizeof *cases };
static double us[CASES][ROUNDS];

static void* run(void* argument) {
  const int me = (int)(intptr_t)argument;
  for (int i = 0; i < CASES; i++) {
    for (int round = 0; round < ROUNDS; round++) {
      pthread_barrier_wait(&barrier);
      const double begin = now_us();
      for (int time = 0; time < TIMES; time++) cases[i].work(me);
      if (me == 0) us[i][round] = (now_us() - begin) / TIMES / cases[i].operations;
    }
  }
  return NULL;
}

static int by_value(const void* one, const void* other) {
  const double difference = *(const double*)one - *(const double*)other;
  return (difference > 0) - (difference < 0);
}

/* As long as 50 ms of one thread. */
static void* spin(void* argument) {
  volatile uint64_t* sum = argument;
  for (int i = 0; i < 50000000; i++) *sum += (uint64_t)i;
  return NULL;
}

static int print_factor(void) {
  uint64_t sums[2][16] = {{0}};
  pthread_t thread;
  double alone = 0, both = 0;
  for (int round = 0; round < 3; round++) {
    const double begin = now_us();
    spin(&sums[0][0]);
    const double middle = now_us();
    if (pthread_create(&thread, NULL, spin, &sums[1][0]) != 0) return 1;
    spin(&sums[0][0]);
    pthread_join(thread, NULL);
    const double end = now_us();
    if (round == 0 || middle - begin < alone) alone = middle - begin;
    if (round == 0 || end - middle < both) both = end - middle;
  }
  printf("factor: %.3f\n", 2 * alone / both);
  return 0;
}

int main(int argc, char** argv) {
  (void)argv;
  if (argc > 1) return print_factor();
  pthread_t thread;
  pthread_barrier_init(&barrier, NULL, 2);
  if (pthread_create(&thread, NULL, run, (void*)(intptr_t)1) != 0) return 1;
  run((void*)(intptr_t)0);
  pthread_join(thread, NULL);
  for (int i = 0; i < CASES; i++) {
    qsort(us[i], ROUNDS, sizeof us[i][0], by_value);
    printf("%s: %.3f\n", cases[i].name, us[i][ROUNDS / 2]);
  }
  return 0;
}
