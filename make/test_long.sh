#!/usr/bin/env bash
# The longer campaigns: the server killed 200 times under a writer, and every decoder under fuzz for
# five minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
echo "== 200 kills of the server under a writer"
IW_KILLS=200 cargo test --release --locked --quiet -p interweave-cli -- killed_under_a_writer
echo "== fuzz"
SECONDS_EACH=${SECONDS_EACH:-300} make/fuzz.sh
