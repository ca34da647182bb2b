#!/usr/bin/env bash
# Everything that must hold. Stops at the first stage that fails, and says which.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-2}
stage=
passed=0
started=$SECONDS
trap 'code=$?; [ $code = 0 ] || { echo; echo "test: FAILED in: $stage"; echo "$passed passed, 1 failed"; }' EXIT

run() {
  stage=$1
  shift
  local begin=$SECONDS
  echo "== $stage"
  "$@"
  echo "== $stage: $((SECONDS - begin)) s"
  passed=$((passed + 1))
}

native_tests() {
  ctest --test-dir "$BUILD/release" --output-on-failure --no-tests=error --parallel "$jobs" --timeout 600
}

# The client library with the address and undefined-behaviour sanitizers. -O1 compiles in half the time, and less of what
# is undefined has been optimised away before it could be seen.
sanitized_tests() {
  cmake -S . -B "$BUILD/sanitized" -G Ninja -DCMAKE_BUILD_TYPE=Release -DIW_EXAMPLES=OFF \
    -DIW_SANITIZE=address,undefined -DIW_RELEASE_FLAGS="-O1 -DNDEBUG -g1" >"$BUILD/sanitized-configure.log" 2>&1 ||
    { cat "$BUILD/sanitized-configure.log"; return 1; }
  cmake --build "$BUILD/sanitized" --parallel "$jobs" -- --quiet
  ctest --test-dir "$BUILD/sanitized" --output-on-failure --no-tests=error --parallel "$jobs" --timeout 900
}

mkdir -p "$BUILD"
run "build" make/build.sh
run "tidy" make/tidy.sh
run "server, compiler and program" cargo test --release --locked --quiet --workspace
run "client library and examples" native_tests
run "web" make/web.sh test
run "python" make/python.sh test
run "client library under sanitizers" sanitized_tests
run "client library on machines unlike this one" make/test_machines.sh
run "programs across machines" make/test_across.sh
run "every client and machine against every other" make/test_conformance.sh
run "an installation, used from outside" make/test_install.sh
run "the tutorial, command by command" make/test_tutorial.py
run "the demo" make/test_demo.sh
run "decoders under fuzz, briefly" make/fuzz.sh --short

echo
echo "test: everything holds ($(((SECONDS - started) / 60)) min)"
echo "$passed passed, 0 failed"
