/* Integer sort: ranks of keys by counting, as in the NAS Parallel Benchmarks' IS, with their key
 * stream and their tests, in classes S, W, A and B. Class P has the 2^24 keys of the paper (PIPE).
 * Program text and sizes of pieces are our own.
 *
 *   is [class S, W, A, P or B] [threads]
 *
 * The count of all keys is shared: it has a part for each process, each with a lock. Every process
 * counts its own keys in memory of its own and then adds the parts, beginning with its own.
 *
 * The program knows that its result is right in two ways. In each of the ten rounds the ranks of
 * five keys are those that the benchmark publishes; class P has no published ranks. At the end all
 * keys are put where their ranks say: each key is not smaller than the one before, and each has
 * found a place of its own. */
#include <string.h>

#include "parallel.h"

MAIN_ENV

enum { ROUNDS = 10, TESTS = 5, PROCESSES_MAX = 64 };

typedef struct {
  char name;
  int keys_bits, range_bits;
  int tests;             /* how many ranks are known of each round */
  uint32_t index[TESTS]; /* of keys whose ranks are known */
  uint32_t rank[TESTS];
  /* In a round the rank is rank[i] + sign[i] * (round + shift[i]). */
  int sign[TESTS];
  int shift[TESTS];
} size_class;

static const size_class classes[] = {
    {'S',
     16,
     11,
     TESTS,
     {48427, 17148, 23627, 62548, 4431},
     {0, 18, 346, 64917, 65463},
     {1, 1, 1, -1, -1},
     {0, 0, 0, 0, 0}},
    {'W',
     20,
     16,
     TESTS,
     {357773, 934767, 875723, 898999, 404505},
     {1249, 11698, 1039987, 1043896, 1048018},
     {1, 1, -1, -1, -1},
     {-2, -2, 0, 0, 0}},
    {'A',
     23,
     19,
     TESTS,
     {2112377, 662041, 5336171, 3642833, 4250760},
     {104, 17523, 123928, 8288932, 8388264},
     {1, 1, 1, -1, -1},
     {-1, -1, -1, -1, -1}},
    {'B',
     25,
     21,
     TESTS,
     {41869, 812306, 5102857, 18232239, 26860214},
     {33422937, 10244, 59149, 33135281, 99},
     {-1, 1, 1, -1, 1},
     {0, 0, 0, 0, 0}},
    {'P', 24, 20, 0, {0}, {0}, {0}, {0}},
};

typedef struct {
  LOCKDEC(start_lock)
  int processes_seen;
  BARDEC(barrier)
  struct {
    LOCKDEC(lock)
  } part[PROCESSES_MAX];
  uint64_t keys_in_part[PROCESSES_MAX];
  int partial_right; /* of ROUNDS times the tests of a round */
  uint64_t out_of_order[PROCESSES_MAX];
  uint64_t placed[PROCESSES_MAX];
} shared;

static const size_class* chosen;
static shared* common;
static uint32_t* keys;   /* of all */
static uint32_t* counts; /* of each key value; then how many keys are not larger */
static uint32_t* sorted;
static size_t key_count, range;

/* The benchmark's random numbers: x becomes a x modulo 2^46. */
#define MODULUS_MASK ((UINT64_C(1) << 46) - 1)
static const uint64_t multiplier = 1220703125, first_seed = 314159265;

static uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = result * base & MODULUS_MASK;
    base = base * base & MODULUS_MASK;
  }
  return result;
}

/* Keys [first, end): each from the sum of four random numbers. */
static void make_keys(size_t first, size_t end) {
  uint64_t random = first_seed * power(multiplier, 4 * (uint64_t)first) & MODULUS_MASK;
  for (size_t i = first; i < end; i++) {
    uint64_t sum = 0;
    for (int k = 0; k < 4; k++) {
      random = random * multiplier & MODULUS_MASK;
      sum += random;
    }
    keys[i] = (uint32_t)(sum >> (46 - (chosen->range_bits - 2)));
  }
}

static size_t begin_of(size_t whole, size_t part) { return whole * part / (size_t)PROCESSES(); }

static void add_counts(const uint32_t* own, size_t me) {
  const size_t all = (size_t)PROCESSES();
  for (size_t i = 0; i < all; i++) {
    const size_t part = (me + i) % all;
    LOCK(common->part[part].lock);
    for (size_t key = begin_of(range, part); key < begin_of(range, part + 1); key++) {
      counts[key] += own[key];
    }
    UNLOCK(common->part[part].lock);
  }
}

/* counts[key] becomes the number of keys that are not larger. */
static void sum_counts(size_t me) {
  const size_t first = begin_of(range, me), end = begin_of(range, me + 1);
  uint64_t in_part = 0;
  for (size_t key = first; key < end; key++) in_part += counts[key];
  common->keys_in_part[me] = in_part;
  BARRIER(common->barrier);
  uint64_t sum = 0;
  for (size_t part = 0; part < me; part++) sum += common->keys_in_part[part];
  for (size_t key = first; key < end; key++) counts[key] = (uint32_t)(sum += counts[key]);
}

static void test_ranks(int round) {
  for (int i = 0; i < chosen->tests; i++) {
    const uint32_t key = keys[chosen->index[i]];
    if (key == 0 || key >= key_count) continue;
    const int64_t expected =
        (int64_t)chosen->rank[i] + chosen->sign[i] * (round + chosen->shift[i]);
    common->partial_right += (int64_t)counts[key - 1] == expected;
  }
}

/* Each process places the keys of its part of the range. */
static void place_keys(size_t me) {
  const size_t first = begin_of(range, me), end = begin_of(range, me + 1);
  const size_t begin = first == 0 ? 0 : counts[first - 1];
  const size_t own = end == first ? 0 : counts[end - 1] - begin;
  uint32_t* next = malloc((end - first + 1) * sizeof *next);
  if (next == NULL) exit(1);
  for (size_t key = first; key < end; key++) next[key - first] = key == 0 ? 0 : counts[key - 1];
  uint64_t placed = 0;
  for (size_t i = 0; i < key_count; i++) {
    const size_t key = keys[i];
    if (key < first || key >= end || next[key - first] >= counts[key]) continue;
    sorted[next[key - first]++] = keys[i];
    placed++;
  }
  free(next);
  common->placed[me] = placed == own ? placed : 0;
  BARRIER(common->barrier);
  uint64_t out_of_order = 0;
  for (size_t i = begin == 0 ? 1 : begin; i < begin + own; i++) {
    out_of_order += sorted[i - 1] > sorted[i];
  }
  common->out_of_order[me] = out_of_order;
}

static void work(void) {
  LOCK(common->start_lock);
  const size_t me = (size_t)common->processes_seen++;
  UNLOCK(common->start_lock);
  const size_t first = begin_of(key_count, me), end = begin_of(key_count, me + 1);
  uint32_t* own = malloc(range * sizeof *own);
  if (own == NULL) exit(1);
  make_keys(first, end);
  for (int round = 1; round <= ROUNDS; round++) {
    if (me == 0) {
      keys[round] = (uint32_t)round;
      keys[round + ROUNDS] = (uint32_t)(range - (size_t)round);
    }
    memset(own, 0, range * sizeof *own);
    for (size_t i = first; i < end; i++) own[keys[i]]++;
    memset(counts + begin_of(range, me), 0,
           (begin_of(range, me + 1) - begin_of(range, me)) * sizeof *counts);
    BARRIER(common->barrier);
    add_counts(own, me);
    BARRIER(common->barrier);
    sum_counts(me);
    BARRIER(common->barrier);
    if (me == 0) test_ranks(round);
    BARRIER(common->barrier);
  }
  free(own);
  place_keys(me);
}

int main(int argc, char** argv) {
  const char wanted = argc > 1 ? argv[1][0] : 'S';
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
    if (classes[i].name == wanted) chosen = &classes[i];
  }
  if (chosen == NULL) {
    fprintf(stderr, "usage: is [class S, W, A, P or B] [threads]\n");
    return 2;
  }
  key_count = (size_t)1 << chosen->keys_bits;
  range = (size_t)1 << chosen->range_bits;
  MAIN_INITENV(argc > 2 ? atoi(argv[2]) : 4);
  if (PROCESSES() > PROCESSES_MAX) {
    fprintf(stderr, "is: at most %d processes\n", PROCESSES_MAX);
    return 2;
  }
  common = G_MALLOC(sizeof *common);
  keys = G_MALLOC(key_count * sizeof *keys);
  counts = G_MALLOC(range * sizeof *counts);
  sorted = G_MALLOC(key_count * sizeof *sorted);
  LOCKINIT(common->start_lock);
  BARINIT(common->barrier);
  for (int i = 0; i < PROCESSES_MAX; i++) LOCKINIT(common->part[i].lock);

  double before, after;
  CLOCK(before);
  CREATE(work);
  WAIT_FOR_END();
  CLOCK(after);

  uint64_t placed = 0, out_of_order = 0;
  for (int i = 0; i < PROCESSES(); i++) {
    placed += common->placed[i];
    out_of_order += common->out_of_order[i];
  }
  const int known = ROUNDS * chosen->tests;
  const int is_right = common->partial_right == known && placed == key_count && out_of_order == 0;
  printf("is: class %c, %zu keys below %zu\n", chosen->name, key_count, range);
  printf("%d of %d published ranks found, %llu keys placed, %llu out of order\n",
         common->partial_right, known, (unsigned long long)placed,
         (unsigned long long)out_of_order);
  if (!is_right) {
    puts("WRONG: see the line before");
  } else if (known > 0) {
    puts("right: the ranks are the published ones, and the keys are in order");
  } else {
    puts("right: each key has its place, and the keys are in order");
  }
  fprintf(stderr, "%d processes, %.3f s\n", PROCESSES(), after - before);
  MAIN_END();
  return !is_right;
}
