#!/usr/bin/env bash
# A project that brings InterWeave in by CMake's FetchContent builds without Rust, gets the client
# library alone, and keeps its own build type, tests and installation.
#
#   packaging/tests/fetched.sh PROGRAM     PROGRAM is `interweave`
set -euo pipefail
program=$(realpath "$1")
cd "$(dirname "$0")/../.."
. make/toolchain.sh
. make/real_server.sh
root=$PWD
project=$work/project
cp -r packaging/tests/fetched "$project"
cp examples/list/list.x "$project/"
"$program" compile examples/list/list.x --lang c --out "$work/generated"
mkdir "$work/without"
for tool in cargo rustc gfortran; do
  printf '#!/bin/sh\necho "%s was called" >&2\nexit 1\n' "$tool" >"$work/without/$tool"
  chmod +x "$work/without/$tool"
done
export PATH=$work/without:$PATH

# configure BUILD [OPTION]...
configure() {
  cmake -S "$project" -B "$@" -G Ninja -DINTERWEAVE="$root" -DLIST="$root/examples/list" \
    -DGENERATED="$work/generated" >"$work/configure.log" 2>&1
}
# The program is needed for interweave_types alone, and the error says so.
! PATH=$work/without:/usr/bin:/bin configure "$work/no-program" ||
  fail "a project without the program is configured"
grep -q 'interweave_types needs the program' "$work/configure.log" ||
  fail "the error does not name what is missing"
configure "$work/built" -DIW_PROGRAM="$program" || fail "the project is not configured"
grep -q '^CMAKE_BUILD_TYPE:STRING=$' "$work/built/CMakeCache.txt" ||
  fail "the project's build type was changed"
cmake --build "$work/built" --parallel "$JOBS" >"$work/build.log" 2>&1 ||
  fail "the project is not built"
grep -q -- '-O3' "$work/built/compile_commands.json" 2>/dev/null ||
  grep -q -- '-O3' "$work/built/build.ninja" || fail "the library is not optimised"
grep -q 'Total Tests: 0' <<<"$(cd "$work/built" && ctest -N)" || fail "the project got tests"
cmake --install "$work/built" --prefix "$work/prefix" >"$work/install.log" 2>&1 ||
  fail "the project is not installed"
[ -z "$(find "$work/prefix" -type f 2>/dev/null)" ] || fail "the project installs the library"

start_server "$program"
"$work/built/list-committed" --url "$address/list" insert 7 11
"$work/built/list-compiled" --url "$address/list" search 7 >"$work/search.log" ||
  fail "the two programs do not share a list"
echo "fetched: a project that fetches InterWeave builds without Rust"
