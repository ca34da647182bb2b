#!/usr/bin/env bash
# The C interface of libinterweave as Debian's abigail-tools read it from the library: functions and
# the types that interweave.h shows. packaging/abi/ keeps that of the last release of the interface.
#
#   packaging/abi.sh record [LIBRARY]    keeps the interface of the library as it is now
#   packaging/abi.sh check [LIBRARY]     ends with status 1 if a program that was compiled against
#                                        the kept interface would not work with the library
#
# A library of the same number (libinterweave.so.0) may have more functions, never fewer or others.
set -euo pipefail
cd "$(dirname "$0")/.."
library=${2:-${BUILD:-build}/release/native/abi/libinterweave.so.0}
kept=packaging/abi/libinterweave.so.0.abi.xz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
abidw --headers-dir native/include --drop-private-types --no-corpus-path --no-comp-dir-path \
  --no-show-locs --type-id-style hash --out-file "$work/new.abi" "$library"
case "${1:-check}" in
  record) xz -9 <"$work/new.abi" >"$kept" ;;
  check)
    xz -dc "${KEPT:-$kept}" >"$work/kept.abi"
    abidiff --no-added-syms "$work/kept.abi" "$work/new.abi" >"$work/said" 2>&1 && exit
    cat "$work/said"
    echo "abi: programs compiled against the kept interface may not work with $library" >&2
    exit 1
    ;;
  *)
    echo "abi: record or check?" >&2
    exit 2
    ;;
esac
