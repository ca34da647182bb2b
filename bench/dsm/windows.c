/* The rival: a window of MPI-3 between two ranks. What bench/dsm/micro.cc measures, as far as
 * windows have it: a page is got, a fence stands for a barrier, dirty pages are put before it.
 * Rank 0 prints the medians in microseconds. bench/dsm.py starts it by mpirun. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, PAGES = 200, DIRTY = 100, TIMES = 200, ROUNDS = 9 };
static MPI_Win window;
static char* memory;
static char here[PAGE];
static int rank;

static void get_page(void) {
  if (rank != 0) return;
  MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
  for (int page = 0; page < PAGES; page++) {
    MPI_Get(here, PAGE, MPI_CHAR, 1, (MPI_Aint)page * PAGE, PAGE, MPI_CHAR, window);
    MPI_Win_flush(1, window);
  }
  MPI_Win_unlock(1, window);
}
static void fence(void) {
  for (int i = 0; i < TIMES; i++) MPI_Win_fence(0, window);
}
static void barrier(void) {
  for (int i = 0; i < TIMES; i++) MPI_Barrier(MPI_COMM_WORLD);
}
static void put_dirty(void) {
  for (int i = 0; i < DIRTY; i++) {
    const MPI_Aint at = (MPI_Aint)(2 * i + rank) * PAGE;
    MPI_Put(here, PAGE, MPI_CHAR, 1 - rank, at, PAGE, MPI_CHAR, window);
  }
  MPI_Win_fence(0, window);
}
static void lock(void) {
  for (int i = 0; i < TIMES; i++) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Win_unlock(0, window);
  }
}

static int by_value(const void* one, const void* other) {
  const double difference = *(const double*)one - *(const double*)other;
  return (difference > 0) - (difference < 0);
}

static void measure(const char* name, void (*work)(void), double operations) {
  double us[ROUNDS];
  for (int round = 0; round < ROUNDS; round++) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    work();
    us[round] = (MPI_Wtime() - begin) * 1e6 / operations;
  }
  qsort(us, ROUNDS, sizeof us[0], by_value);
  if (rank == 0) printf("%s: %.3f\n", name, us[ROUNDS / 2]);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate((MPI_Aint)PAGES * PAGE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  memset(memory, 1, (size_t)PAGES * PAGE);
  MPI_Barrier(MPI_COMM_WORLD);
  measure("page miss, the home waits in a call", get_page, PAGES);
  measure("lock passed, the owner waits in a call", lock, 2 * TIMES);
  measure("MPI_Barrier", barrier, TIMES);
  MPI_Win_fence(0, window);
  measure("barrier, both poll", fence, TIMES);
  measure("barrier, a dirty page, each away from its writer", put_dirty, DIRTY);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
