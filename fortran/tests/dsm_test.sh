#!/bin/sh
# A Fortran program as ranks of a job: dsm_test.sh INTERWEAVE PROGRAM
set -eu
interweave=$1
program=$2
for ranks in 1 2 3; do
  said=$("$interweave" run -n "$ranks" "$program")
  test "$said" = "$(printf 'before the first barrier\nright')" || {
    echo "FAILED with $ranks ranks: $said" >&2
    exit 1
  }
done
