#!/usr/bin/env bash
# The TypeScript client and the viewer: `make/web.sh build` compiles them, `make/web.sh agent` the
# conformance agent, `make/web.sh test` also runs the tests on the server and beside the C++ programs of
# make/build.sh.
set -euo pipefail
cd "$(dirname "$0")/../web"
# What package-lock.json names, fetched by npm itself; nothing when it is there.
[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent --no-progress
if [ "${1:-build}" = agent ]; then exec npm run --silent build:test; fi
built_hash() { cat viewer/built/* | git hash-object --stdin; }
before=$(built_hash)
npm run --silent build
[ "${1:-build}" = test ] || exit 0
npm run --silent check
[ "$before" = "$(built_hash)" ] ||
  { echo "web: viewer/built was stale; it is built now: build the server anew and commit it" >&2; exit 1; }
export IW_TEST_SERVER=${IW_TEST_SERVER:-$PWD/../target/release/interweave}
export IW_TEST_AGENT=${IW_TEST_AGENT:-$(realpath "../${BUILD:-build}/release/native/abi/test_agent")}
export IW_TEST_SIMULATOR=${IW_TEST_SIMULATOR:-$(realpath "../${BUILD:-build}/release/examples/astroflow/astroflow-simulator")}
mkdir -p build
npm test --silent >build/tests.log 2>&1 || { cat build/tests.log; exit 1; }
# What was measured, and the sums.
grep "^ℹ" build/tests.log
