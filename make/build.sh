#!/usr/bin/env bash
# Builds what is asked for, and no more; a second call does no work twice.
#
#   make/build.sh demo      the interweave program, Astroflow's simulator and viewer
#   make/build.sh library   the client library alone, for the Python package
#   make/build.sh sim       the client's engine alone, for the simulator
#   make/build.sh install   the program, the libraries of client and cluster, the Fortran module
#   make/build.sh           these and the examples: `make build`
#   make/build.sh tests     these and the tests' programs
#
# The program is target/release/interweave; everything in C, C++ and Fortran is in $BUILD/release.
# An option of CMake that one call has switched on stays on, since CMake deletes what an
# option no longer builds.
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
what=${1:-all}
release=$BUILD/release
program=$PWD/target/release/interweave
idl_compiler=$PWD/target/release/interweave-idl

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
  sim)
    targets=(iw_sim)
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
    echo "build: '$what' is not a part; the parts are demo, library, sim, install, all, tests" >&2
    exit 2
    ;;
esac
[ "${CI:-}" != true ] || options+=(-DCMAKE_COMPILE_WARNING_AS_ERROR=ON)

# The compiler of .x files first and alone: it is all that the other build needs of
# cargo, and takes seconds.
build_idl_compiler() {
  make/cargo_dependencies.sh restore
  cargo build --release --quiet --locked "${cargo_members[@]}" --bin interweave-idl
}

build_program() {
  cargo build --release --quiet --locked "${cargo_members[@]}" --bin interweave
  [ "$what" != tests ] ||
    cargo test --release --quiet --locked "${cargo_members[@]}" --all-targets --no-run
  make/cargo_dependencies.sh save
}

configure() {
  mkdir -p "$release"
  cmake -S . -B "$release" -G Ninja -DCMAKE_BUILD_TYPE=Release -DIW_PROGRAM="$program" \
    -DIW_IDL="$idl_compiler;data" "${options[@]}" \
    >"$release/configure.log" 2>&1 || { cat "$release/configure.log"; return 1; }
}

ninja=(ninja -C "$release" -j "$JOBS" "${quiet_ninja[@]}" "${targets[@]}")
native_phase="programs in C, C++ and Fortran (${targets[*]}), with CMake"
if [ -z "$program_wanted" ]; then
  phase "$native_phase"
  configure
  "${ninja[@]}"
  exit
fi
phase "the interweave program, with cargo; at the same time $native_phase"
configure &
configuring=$!
build_idl_compiler
wait "$configuring"

# Side by side, because cargo alone leaves a processor idle where crates wait for each other. For
# the same reason cargo goes first. Of two progress bars only ninja's is shown.
nice -n 5 "${ninja[@]}" &
natives=$!
trap 'kill "$natives" && wait "$natives"' EXIT
build_program
trap - EXIT
wait "$natives"
