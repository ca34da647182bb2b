#!/usr/bin/env bash
# Every promise of the store on a cluster of PostgreSQL, with losses of power: primary and standby
# are killed, and one of them continues. `make test` has the cases that need no loss of power.
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
exec cargo test --release --locked --quiet "${cargo_members[@]}" --test postgres -- --ignored \
  --nocapture
