#!/usr/bin/env bash
# The tests that ctest knows: client library, cluster, Fortran, examples. The
# programs are built already.
#
#   make/test_native.sh           all but those of `make test-deep`
#   make/test_native.sh --deep    those: tests that need a network of their own
#   make/test_native.sh ROOM      one room: abi, memory, ddss, mining ...; or native, cluster,
#                                 fortran, examples
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
release=$BUILD/release
results=$(realpath -m "${RESULTS:-$BUILD/tests/native}")
mkdir -p "$results"
room=${1:-}
case $room in
  # Their tests run the C functions against a real server.
  copy) room=abi ;;
  client) room='(abi|client)' ;;
esac
case $room in
  '') chosen=(--label-exclude deep) ;;
  --deep) chosen=(--label-regex deep) ;;
  examples) chosen=(--tests-regex '^(examples|astroflow|mining|grid)\.') ;;
  *)
    chosen=(--tests-regex "(^|\\.)$room(_[a-z]+)?(\\.|\$)" --label-exclude deep)
    [[ $(ctest --test-dir "$release" "${chosen[@]}" -N) = *"Test "*"#"* ]] || {
      echo "test: '$room' is not a room; the tests are:" >&2
      ctest --test-dir "$release" -N | sed -n 's/^ *Test *#[0-9]*: /  /p' >&2
      exit 2
    }
    ;;
esac
# Three at a time on two processors, because most wait for other processes.
ctest --test-dir "$release" "${chosen[@]}" --output-on-failure --no-tests=error --timeout 600 \
  --parallel $((JOBS + 1)) --schedule-random --output-junit "$results/ctest.xml" \
  --test-output-size-passed 50000000 --test-output-size-failed 50000000
