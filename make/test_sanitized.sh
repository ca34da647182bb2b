#!/usr/bin/env bash
# The client library's tests with the address and undefined-behaviour sanitizers. -O1 compiles in
# half the time, and less of what is undefined has been optimised away before it could be seen.
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
folder=$BUILD/sanitized
results=$(realpath -m "${RESULTS:-$BUILD/tests/sanitizers}")
mkdir -p "$folder" "$results"
cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DIW_EXAMPLES=OFF -DIW_CLUSTER=ON \
  -DIW_TESTS=ON -DIW_PROGRAM="$PWD/target/release/interweave" \
  -DIW_SANITIZE=address,undefined -DIW_RELEASE_FLAGS="-O1 -DNDEBUG -g1" \
  >"$folder/configure.log" 2>&1 ||
  { cat "$folder/configure.log"; exit 1; }
cmake --build "$folder" --parallel "$JOBS" --target all tests -- --quiet
ctest --test-dir "$folder" --label-exclude deep --output-on-failure --no-tests=error --timeout 900 \
  --parallel $((JOBS + 1)) --output-junit "$results/ctest.xml" \
  --test-output-size-passed 50000000 --test-output-size-failed 50000000
