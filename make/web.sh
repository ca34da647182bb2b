#!/usr/bin/env bash
# The TypeScript client and the viewer.
#
#   make/web.sh build    compiles them
#   make/web.sh test     and runs the tests on the server, with the C++ programs of make/build.sh
#                        and a cluster of PostgreSQL
#   make/web.sh agent    the conformance agent
#   make/web.sh fetch    only what package-lock.json names
set -euo pipefail
cd "$(dirname "$0")/../web"
# Nothing when it is there. Fetched by one at a time.
fetch() {
  (
    flock 9
    [ node_modules/.package-lock.json -nt package-lock.json ] ||
      npm ci --silent --no-progress --no-audit --no-fund
  ) 9>.fetching
}
fetch
case "${1:-build}" in
  fetch) exit ;;
  agent) exec npm run --silent build:test ;;
  build | test) ;;
  *) echo "web: '$1' is not one of build, test, agent, fetch" >&2; exit 2 ;;
esac
built_hash() { cat viewer/built/* | git hash-object --stdin; }
before=$(built_hash)
npm run --silent build
[ "${1:-build}" = test ] || exit 0
npm run --silent check
[ "$before" = "$(built_hash)" ] || {
  echo "web: viewer/built was stale; it is built now: build the server anew and commit it" >&2
  exit 1
}
BUILD=$(realpath -m "../${BUILD:-build}")
results=$(realpath -m "${RESULTS:-$BUILD/tests/web}")
mkdir -p "$results"
export IW_TEST_SERVER=${IW_TEST_SERVER:-$PWD/../target/release/interweave}
export IW_TEST_AGENT=${IW_TEST_AGENT:-$BUILD/release/native/abi/test_agent}
export IW_TEST_SIMULATOR=${IW_TEST_SIMULATOR:-$BUILD/release/examples/astroflow/astroflow-simulator}
export IW_TEST_CLUSTER=${IW_TEST_CLUSTER:-$PWD/../target/release/interweave-test-cluster}
(
  cd ..
  . make/toolchain.sh
  cargo build --release --quiet --locked "${cargo_members[@]}" --bin interweave-test-cluster
)
npm run --silent build:test
node --test --test-reporter=spec --test-reporter-destination=stdout \
  --test-reporter=tap --test-reporter-destination="$results/node.tap" build/test/*.test.js
