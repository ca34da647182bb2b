#!/usr/bin/env bash
# Builds the interweave program (target/release/interweave) and, with the compiler that this brings,
# the client library and the examples (build/release). A second call does no work twice.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --quiet --locked --bins
cmake -S . -B "$BUILD/release" -G Ninja -DCMAKE_BUILD_TYPE=Release -DIW_CLUSTER=ON \
  -DIW_PROGRAM="$PWD/target/release/interweave" >"$BUILD-cmake.log" 2>&1 || { cat "$BUILD-cmake.log"; exit 1; }
mv "$BUILD-cmake.log" "$BUILD/release/configure.log"
cmake --build "$BUILD/release" --parallel "${JOBS:-2}" -- --quiet
