#!/usr/bin/env bash
# Changes a room's sources in one place after the other, and runs the room's own tests each time, to
# see which changes no test notices. make/mutants/left.md has those, with the reasons.
# Of native/, make/mutants/left_out.txt has changes that are not tried.
#
#   make/mutants.sh server/master     or access, store, wire: the crate
#   make/mutants.sh server/lock       or coherence, session: the folder of server/src
#   make/mutants.sh native/session    or another room of native/
#
# Further arguments go to make/mutants/rust.py or make/mutants/native.py (--every 5: each fifth).
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
room=${1:-server/master}
shift || true
mkdir -p "$BUILD/mutants"

case $room in
  native/*) exec nice -n 10 make/mutants/native.py "$room" "$@" ;;
  server/*)
    CARGO_TARGET_DIR=$(realpath -m "$BUILD/mutants/tool")
    export CARGO_TARGET_DIR
    phase "the tool and its tests, with cargo"
    manifest=make/mutants/rust/Cargo.toml
    cargo test --quiet --locked --manifest-path "$manifest" >"$BUILD/mutants/tool.log" 2>&1 || {
      cat "$BUILD/mutants/tool.log" >&2
      exit 1
    }
    cargo build --quiet --locked --manifest-path "$manifest"
    CARGO_TARGET_DIR=$(realpath -m "$BUILD/mutants/target")
    make/cargo_dependencies.sh restore
    exec nice -n "${NICE:-10}" make/mutants/rust.py "$room" "$@"
    ;;
  *)
    echo "mutants: '$room' is not a room of server/ or native/" >&2
    exit 2
    ;;
esac
