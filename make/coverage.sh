#!/usr/bin/env bash
# Runs the simulator on engines that count which of their lines ran, and prints the share for each
# room: the server's engine and store in Rust, the client's engine in C++.
#
#   make/coverage.sh       MINUTES minutes of seeds (default 5), from FROM on, JOBS at a time
#
# $BUILD/coverage/lines.txt names the lines that no run reached.
set -euo pipefail
cd "$(dirname "$0")/.."
export BUILD=${BUILD:-build}/coverage CXXFLAGS="--coverage ${CXXFLAGS:-}"
# The counts lie where the compiler ran, so no object may come from another place.
export IW_CACHE=none
. make/toolchain.sh

# tool NAME: that of the LLVM that rustc was built with, because the counts' format is LLVM's own.
major=$(rustc --version --verbose | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
tool() {
  local of_rustup
  of_rustup=$(find "$(rustc --print sysroot)/lib/rustlib" -name "$1" -print -quit)
  local found
  for found in ${IW_LLVM_BIN:+"$IW_LLVM_BIN/$1"} "$of_rustup" "$1-$major"; do
    [ -n "$found" ] && command -v "$found" && return
  done
  echo "coverage: $1 of LLVM $major is missing: install the package llvm-$major, or say in" \
    "IW_LLVM_BIN in which folder it is" >&2
  return 1
}
profdata=$(tool llvm-profdata)
cov=$(tool llvm-cov)

make/build.sh sim
IW_SIM_ENGINE=$(realpath "$BUILD/release/native")
export IW_SIM_ENGINE CARGO_TARGET_DIR=$BUILD/rust
# Only crates of this repository count: the wrapper is called for no others.
export RUSTC_WORKSPACE_WRAPPER=$PWD/make/coverage/rustc.sh
export RUSTFLAGS="$RUSTFLAGS -Clink-arg=-lgcov"
phase "building the simulator"
# Build scripts count, too, and nobody wants their counts.
export LLVM_PROFILE_FILE=/dev/null
cargo build --release --locked --quiet --package interweave-sim --features native
program=$CARGO_TARGET_DIR/release/interweave-sim

rm -f "$BUILD"/*.profraw "$BUILD/profile"
find "$BUILD/release" -name '*.gcda' -delete
status=0
LLVM_PROFILE_FILE=$BUILD/sim-%p.profraw "$program" --from "${FROM:-1}" --all --no-shrink \
  --minutes "${MINUTES:-5}" --workers "$JOBS" || status=$?
"$profdata" merge --sparse "$BUILD"/*.profraw --output "$BUILD/profile"
"$cov" export --format lcov --instr-profile "$BUILD/profile" --skip-functions "$program" \
  >"$BUILD/rust.lcov"
make/coverage/report.py "$BUILD"
exit "$status"
