#!/usr/bin/env bash
# A gas simulation on three servers, a primary and a standby; keys kill each of them
# (examples/failover). Ends with q or Ctrl-C.
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
cargo build --release --locked --quiet "${cargo_members[@]}" --bin interweave-demo-failover
export IW_PROGRAM="$PWD/target/release/interweave"
exec "${CARGO_TARGET_DIR:-target}/release/interweave-demo-failover" \
  "$(realpath -m "$BUILD")/release/examples/astroflow"
