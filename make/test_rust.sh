#!/usr/bin/env bash
# The tests of server, compiler and program.
#
#   make/test_rust.sh           all
#   make/test_rust.sh CRATE     one: wire, master, access, store (and its suite), server, cli, idl,
#                               fuzz
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
results=$(realpath -m "${RESULTS:-$BUILD/tests/rust}")
mkdir -p "$results"
package=("${cargo_members[@]}")
[ $# -eq 0 ] || package=(--package "interweave-$1")
[ "${1:-}" != store ] ||
  package+=(--package interweave-store-suite --package interweave-store-postgres)
cargo test --release --locked --quiet "${package[@]}" --no-run
make/cargo_dependencies.sh save
# A program with the client library in C++, for the tests that start one.
agent=$(realpath -m "$BUILD/release/native/abi/test_agent")
if [ -x "$agent" ]; then
  export IW_TEST_AGENT=$agent
else
  echo "test_rust: $agent is not built: no test starts it" >&2
fi
# Each case's time: the test programs, and they alone, are told that they may print it.
machine=$(rustc -vV | sed -n 's/^host: //p' | tr a-z- A-Z_)
export "CARGO_TARGET_${machine}_RUNNER=env RUSTC_BOOTSTRAP=1"
cargo test --release --locked "${package[@]}" --no-fail-fast --all-targets -- -Z unstable-options \
  --report-time 2>&1 | tee "$results/tests.cargo"
