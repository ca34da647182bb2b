#!/usr/bin/env bash
# Servers of a space on a database that Patroni keeps: its leaders are killed under a writer and a
# reader, another node is promoted each time, and the dead one comes back. KILLS=3.
#
# Needs Debian's packages patroni, etcd-server and python3-etcd. `make setup` does not install them.
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
for program in patroni etcd; do
  command -v "$program" >/dev/null || {
    echo "test-patroni: $program is missing: apt install patroni etcd-server python3-etcd" >&2
    exit 1
  }
done
cargo build --release --quiet --locked "${cargo_members[@]}" --bin interweave
cd web
npm run --silent build:test
exec node build/test/patroni_kills.js
