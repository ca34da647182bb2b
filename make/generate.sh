#!/usr/bin/env bash
# Regenerates the protocol's codecs; they are committed, and `make tidy` checks that this changes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
cargo run --release --quiet --locked -p interweave-idl -- codec --lang rust --out server/wire/src/protocol spec/protocol/*.x
cargo run --release --quiet --locked -p interweave-idl -- codec --lang cpp --out native/protocol spec/protocol/*.x
cargo run --release --quiet --locked -p interweave-idl -- codec --lang typescript --out web/src/wire/protocol spec/protocol/*.x
