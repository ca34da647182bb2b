#!/usr/bin/env bash
# Clang's thread-safety analysis over native and cluster: a thread touches what a mutex guards only
# while it holds the mutex (native/platform/mutex.h). Nothing is built. Each file is compiled alone,
# so one that lacks an include is found here.
#
#   make/thread_safety.sh            all sources
#   make/thread_safety.sh FILE ...   only these
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
command -v clang++ >/dev/null || {
  echo "thread_safety: clang++ is missing; make setup installs it" >&2
  exit 1
}

# What is built on this system: no tests, whose mutexes are few, and not the Windows sources.
sources() {
  git ls-files -co --exclude-standard 'native/*.cc' 'cluster/*.cc' |
    grep -vE '_windows\.cc$|_test\.cc$|_bench\.cc$|/tests/|/testing/|/vectors/|sample_types'
}
transport=$(pkg-config --cflags ucx pmix)
check() {
  # shellcheck disable=SC2086 # flags are words
  clang++ -std=c++20 -fsyntax-only -Wno-everything -Wthread-safety -Werror=thread-safety \
    -Inative -Inative/include -Icluster -Icluster/include $transport "$1"
}
export -f check
export transport

# An analysis that finds nothing anywhere is switched off.
breach=$(mktemp --suffix=.cc)
trap 'rm -f "$breach"' EXIT
cat >"$breach" <<'END'
#include "platform/mutex.h"
struct Counter {
  iw::platform::Mutex mutex;
  int count IW_GUARDED_BY(mutex) = 0;
  void add() { ++count; }
};
END
if check "$breach" 2>/dev/null; then
  echo "thread_safety: clang++ does not find a breach that is there" >&2
  exit 1
fi

if [ $# -gt 0 ]; then printf '%s\0' "$@"; else sources | tr '\n' '\0'; fi |
  xargs -0 -n 1 -P "$JOBS" bash -c 'check "$0"'
