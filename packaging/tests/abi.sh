#!/usr/bin/env bash
# The library still has the interface that programs were compiled against; and a function that went
# away, or a struct that changed, would be noticed.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "FAILED: $*" >&2
  exit 1
}
xz -dc packaging/abi/libinterweave.so.0.abi.xz >"$work/kept.abi"
packaging/abi.sh check

# noticed WHAT SED-EXPRESSION: the kept interface, had it been another one.
noticed() {
  sed -e "$2" "$work/kept.abi" >"$work/other.abi"
  ! cmp -s "$work/kept.abi" "$work/other.abi" || fail "$1: the kept interface has nothing like it"
  xz --force --keep "$work/other.abi"
  ! KEPT=$work/other.abi.xz packaging/abi.sh check >"$work/check.log" 2>&1 ||
    fail "$1 is not noticed"
}
noticed "a function that went away" "s/'IW_wl_acquire'/'IW_gone'/g"
offset=layout-offset-in-bits
noticed "a member that moved" \
  "/name='IW_open_options'/,/<\/class-decl>/s/$offset='128'/$offset='160'/"
echo "abi: the interface is the kept one"
