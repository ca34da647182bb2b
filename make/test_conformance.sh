#!/usr/bin/env bash
# Every client and machine against others (conformance/README.md): the cases over pairs of agents,
# then random types and edits on all of them together. Uses the builds of build.sh and
# test_machines.sh, or makes them.
#   make/test_conformance.sh              EDITS=n edits (default 50,000), SEED=n; restarts and
#                                         owners: the languages on this machine
#   make/test_conformance.sh --short      the languages on this machine alone, 5,000 edits, a third
#                                         of the restarts, a quarter of the owners
#   make/test_conformance.sh --long       five machines and Windows more, every pair, and a million
#                                         edits
#   MACHINES="alpha windows" ...          only these beside this machine
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
jobs=$JOBS
edits=${EDITS:-50000}
machines="native s390x powerpc i686 aarch64"  # the agent in C++ on those of conformance/agents.json
chosen=()
cells=
if [ "${1:-}" = --short ]; then
  edits=${EDITS:-5000}
  chosen=(--agents native,fortran,python,typescript,java)
  machines=native
  cells=--short
fi
if [ "${1:-}" = --long ]; then
  edits=${EDITS:-1000000}
  chosen=(--long)
  machines="$machines sparc64 mips mipsel m68k alpha windows"
fi
if [ -n "${MACHINES:-}" ]; then
  machines="native $MACHINES"
  chosen+=(--agents "${machines// /,}")
fi
BUILD=$(realpath -m "${BUILD:-build}")
export BUILD
export PATH=$PATH:/usr/lib/wine  # where Debian has wine64

quietly() {  # LOG COMMAND...: shows what it says only if it fails
  local log=$1
  shift
  "$@" >"$log" 2>&1 || { cat "$log"; return 1; }
}

triplet_of() { [ "$1" = windows ] && echo x86_64-w64-mingw32 || echo "$1-linux-gnu"; }

# The library of another machine, configured as test_machines.sh does.
library() {
  local folder=$1 triplet=$2
  mkdir -p "$folder"
  [ -f "$folder/build.ninja" ] || quietly "$folder/configure.log" \
    cmake -S native -B "$folder" -G Ninja --toolchain "$PWD/native/cmake/cross.cmake" \
    -DIW_TARGET="$triplet" \
    -DIW_PROGRAM="$PWD/target/release/interweave" -DIW_TESTS=ON -DCMAKE_BUILD_TYPE=Release \
    -DIW_RELEASE_FLAGS="-O1 -DNDEBUG"
  quietly "$folder/library.log" cmake --build "$folder" --parallel "$jobs" --target interweave
}

for machine in $machines; do
  if [ "$machine" = native ]; then
    folder=$BUILD/release
    archive=$folder/native/abi/libinterweave.a
    cross=()
    quietly "$BUILD/library.log" cmake --build "$folder" --parallel "$jobs" \
      --target interweave fortran_agent
  else
    folder=$BUILD/machines/$machine
    archive=$folder/abi/libinterweave.a
    triplet=$(triplet_of "$machine")
    cross=(--toolchain "$PWD/native/cmake/cross.cmake" -DIW_TARGET="$triplet")
    library "$folder" "$triplet"
  fi
  mkdir -p "$folder/conformance"
  quietly "$folder/conformance/configure.log" \
    cmake -S conformance/agents/cpp -B "$folder/conformance" -G Ninja "${cross[@]}" \
    -DIW_LIBRARY="$archive"
  quietly "$folder/conformance/build.log" cmake --build "$folder/conformance" --parallel "$jobs"
done

if [ -z "${MACHINES:-}" ]; then
  make/web.sh agent
  make/python.sh agent
  make/java.sh agent
fi

server=(--server "${IW_TEST_SERVER:-target/release/interweave}")
database=(--cluster none)
if [ -z "${MACHINES:-}" ]; then
  cargo build --release --quiet --locked "${cargo_members[@]}" --bin interweave-test-cluster
  database=(--cluster target/release/interweave-test-cluster)
fi
conformance/run.py self-test "${server[@]}" "${database[@]}"
conformance/run.py cases "${server[@]}" --jobs "$jobs" "${chosen[@]}"
if [ -z "${MACHINES:-}" ]; then
  # News of a client do not depend on its machine, so clients of one machine are enough.
  for matrix in restarts owners; do
    conformance/run.py "$matrix" "${server[@]}" "${database[@]}" --jobs "$jobs" \
      --agents native,fortran,python,typescript,java $cells
  done
fi
# Every language is let in or refused by token, certificate and rule.
[ -n "${MACHINES:-}" ] || conformance/run.py identities "${server[@]}" --jobs "$jobs" \
  --agents native,fortran,python,typescript,java
# Clients that encrypt by themselves: by OpenSSL, Node and the JDK.
[ -n "${MACHINES:-}" ] || [ "${1:-}" = --short ] ||
  conformance/run.py cases "${server[@]}" --jobs "$jobs" --tls --agents native,typescript,java
conformance/run.py random "${server[@]}" --edits "$edits" "${chosen[@]}" ${SEED:+--seed "$SEED"}
