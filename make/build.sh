#!/usr/bin/env bash
# Builds what is asked for, and no more; a second call does no work twice.
#
#   make/build.sh demo      the interweave program, Astroflow's simulator and viewer
#   make/build.sh library   the client library alone, for the Python package
#   make/build.sh install   the program, the libraries of client and cluster, the Fortran module
#   make/build.sh           these and the examples: `make build`
#   make/build.sh tests     these and the tests' programs
#
# The program is target/release/interweave; everything in C, C++ and Fortran is in $BUILD/release. An option
# of CMake that one call has switched on stays on, since CMake deletes what an option no longer builds.
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
what=${1:-all}
release=$BUILD/release
program=$PWD/target/release/interweave

options=()
program_wanted=yes
case $what in
  demo)
    [ "${SIMULATOR:-}" != fortran ] || options=(-DIW_FORTRAN=ON)
    targets=(demo)
    ;;
  library)
    targets=(interweave)
    program_wanted=
    ;;
  install)
    options=(-DIW_CLUSTER=ON -DIW_FORTRAN=ON)
    targets=(installed)
    ;;
  all)
    options=(-DIW_CLUSTER=ON -DIW_FORTRAN=ON)
    targets=(all)
    ;;
  tests)
    options=(-DIW_CLUSTER=ON -DIW_FORTRAN=ON -DIW_TESTS=ON)
    targets=(all tests)
    ;;
  *)
    echo "build: '$what' is not a part; the parts are demo, library, install, all, tests" >&2
    exit 2
    ;;
esac
[ "${CI:-}" != true ] || options+=(-DCMAKE_COMPILE_WARNING_AS_ERROR=ON)

build_program() {
  phase "the interweave program, with cargo"
  make/cargo_dependencies.sh restore
  cargo build --release "${quiet_cargo[@]}" --locked -p interweave-cli --bin interweave
  make/cargo_dependencies.sh save
}

configure() {
  mkdir -p "$release"
  cmake -S . -B "$release" -G Ninja -DCMAKE_BUILD_TYPE=Release -DIW_PROGRAM="$program" "${options[@]}" \
    >"$release/configure.log" 2>&1 || { cat "$release/configure.log"; return 1; }
}

[ -z "$program_wanted" ] || build_program
phase "programs in C, C++ and Fortran (${targets[*]}), with CMake"
configure
cmake --build "$release" --parallel "$JOBS" --target "${targets[@]}" "${quiet_ninja[@]}"
