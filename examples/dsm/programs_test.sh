#!/bin/sh
# Each program says the same with processes as with threads, and says that it is right:
# programs_test.sh DIR-OF-THE-PROGRAMS INTERWEAVE [deep]
# deep: with more processes than processors, and larger.
set -eu
programs=$1
interweave=$2
. "$(dirname "$0")/../../make/real_server.sh"

# same RANKS PROGRAM [ARGUMENT]...: as many threads. The times are on stderr.
same() {
  ranks=$1
  program=$2
  shift 2
  compare "$@" "$ranks"
}

# The same of LU, whose matrix lies by blocks.
same_blocks() {
  ranks=$1
  program=$2
  shift 2
  compare "$@" "$ranks" blocks
}

compare() {
  "$programs/dsm-$program-threads" "$@" >"$work/threads.log" 2>"$work/threads_times.log" ||
    fail "$program with threads"
  "$interweave" run -n "$ranks" -- "$programs/dsm-$program" "$@" >"$work/processes.log" \
    2>"$work/processes_times.log" || fail "$program with $ranks processes"
  cmp "$work/threads.log" "$work/processes.log" || fail "$program says other things"
  grep -q '^right: ' "$work/processes.log" || fail "$program does not say that it is right"
  echo "ok: $program $* with $ranks processes"
}

if [ "${3:-}" = deep ]; then
  for ranks in 8 16; do
    same "$ranks" jacobi 514 20
    same "$ranks" is W
    same "$ranks" lu 256 16
    same_blocks "$ranks" lu 256 16
    same "$ranks" ocean 66 2
    same "$ranks" barnes 2048 2
    same "$ranks" branch_and_bound 10
    same "$ranks" producers 50
  done
  IW_DSM_PAGE=64K same 8 lu 256 16
  IW_DSM_CACHE=256K same 8 lu 256 16
  IW_FABRIC=tcp same 8 ocean 34 2
  same 2 is P
  exit
fi

for ranks in 1 2 3 4; do
  same "$ranks" jacobi 130 20
done
IW_DSM_PAGE=64K same 3 jacobi 130 20
IW_DSM_DIFFS=orig same 2 jacobi 130 20
IW_FABRIC=tcp same 2 jacobi 130 20
IW_DSM_FAULTS=sigsegv same 2 jacobi 130 20
same 1 is S
same 2 is S
same 3 is S
same 2 branch_and_bound 9
same 3 branch_and_bound 10
same 2 producers 100
same 4 producers 50
same 2 lu 128 16
same 4 lu 96 8
IW_DSM_CACHE=256K same 2 lu 256 16
same_blocks 3 lu 96 8
same 3 ocean 34 2
same 2 barnes 512 2
same 3 barnes 700 2

# A program that needs more says so once for each process, and the job ends.
refused 2 usage "$interweave" run -n 1 "$programs/dsm-producers" 10
