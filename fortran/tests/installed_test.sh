#!/bin/sh
# installed_test.sh CMAKE BUILD-DIRECTORY GENERATED-TYPES INTERWEAVE: installs, builds the exchange
# program from outside with CMake and with pkg-config, against the shared library and the
# stub, and runs it.
set -eu
tests=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" --install "$2" --prefix "$work/prefix" >/dev/null
cat >"$work/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.20)
project(outside LANGUAGES C Fortran)
find_package(interweave REQUIRED)
foreach(program exchange calls changes)
  add_executable(${program} ${TESTS}/checks.f90 ${TESTS}/${program}.f90 ${TYPES}/exchange.f90
    ${TYPES}/exchange.c)
  target_link_libraries(${program} PRIVATE interweave::fortran)
  set_target_properties(${program} PROPERTIES Fortran_MODULE_DIRECTORY ${program}.modules)
endforeach()
add_executable(alone
  ${TESTS}/checks.f90 ${TESTS}/alone.f90 ${TYPES}/exchange.f90 ${TYPES}/exchange.c)
target_link_libraries(alone PRIVATE interweave::fortran_stub)
CMAKE
"$1" -S "$work" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DTESTS="$tests" -DTYPES="$3" \
  >"$work/log" 2>&1 && "$1" --build "$work/build" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$work/build/alone"

cd "$work"
export PKG_CONFIG_PATH="$work/prefix/lib/pkgconfig"
flags=$(pkg-config --cflags interweave_fortran)
# shellcheck disable=SC2086
gcc -c $flags "$3/exchange.c" -o types.o
# shellcheck disable=SC2046,SC2086
gfortran -std=f2003 $flags "$3/exchange.f90" "$tests/checks.f90" "$tests/exchange.f90" types.o \
  $(pkg-config --libs interweave_fortran) "-Wl,-rpath,$work/prefix/lib" -o exchange
"$tests/exchange_test.sh" "$4" "$work/build/exchange" "$work/exchange" "$work/build/calls" \
  "$work/build/changes"
