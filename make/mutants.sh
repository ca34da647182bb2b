#!/usr/bin/env bash
# Changes a room's sources in one place after the other, and runs the room's own tests each time, to
# see which changes no test notices. make/mutants/left.md has those, with the reasons.
#
#   make/mutants.sh server/master     or access, store, wire: the crate
#   make/mutants.sh server/lock       or coherence, session: the folder of server/src
#   make/mutants.sh native/session    or another room of native/
#
# Further arguments go to cargo-mutants, or to make/mutants/native.py (--every 5: each fifth).
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
room=${1:-server/master}
shift || true
version=27.1.0
mkdir -p "$BUILD/mutants"

case $room in
  native/*) exec nice -n 10 make/mutants/native.py "$room" "$@" ;;
  server/lock | server/coherence | server/session)
    folder=server/src/${room#server/}
    package=(--package interweave-server)
    tests=(-- --lib "${room#server/}")
    ;;
  server/*)
    folder=$room/src
    package=(--package "interweave-${room#server/}")
    tests=()
    # The suite has most of the store's tests.
    [ "$room" != server/store ] || package+=(--test-package interweave-store,interweave-store-suite)
    ;;
  *)
    echo "mutants: '$room' is not a room of server/ or native/" >&2
    exit 2
    ;;
esac

tools=$(realpath -m "${IW_TOOLS:-$BUILD/tools}")
found=$("$tools/bin/cargo-mutants" mutants --version 2>/dev/null || true)
if [ "$found" != "cargo-mutants $version" ]; then
  phase "cargo-mutants $version, with cargo"
  cargo install --quiet --locked --root "$tools" --version "$version" cargo-mutants
fi
status=0
nice -n 10 "$tools/bin/cargo-mutants" mutants "${package[@]}" --file "$folder/**/*.rs" \
  --file "$folder/*.rs" --output "$BUILD/mutants/${room/\//-}" --no-shuffle --colors never \
  --minimum-test-timeout 60 "$@" "${tests[@]}" || status=$?
# 2: some changes were not seen; 3: some tests did not end, which counts as seen.
[ "$status" -le 3 ] && [ "$status" != 1 ]
