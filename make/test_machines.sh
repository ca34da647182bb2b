#!/usr/bin/env bash
# The client library's tests on machines unlike this one, against this machine's server: cross-built
# by Debian's compilers, run by qemu's user emulation (i686: natively; Windows: by wine).
#   make/test_machines.sh            the four of `make test-deep`
#   make/test_machines.sh --all      all, as `make test-machines` does; MACHINES="alpha mips" for
#                                    some
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
jobs=$JOBS

# name triplet page-size
everyday="s390x:s390x-linux-gnu: powerpc:powerpc-linux-gnu: i686:i686-linux-gnu: aarch64:aarch64-linux-gnu:65536"
others="alpha:alpha-linux-gnu: sparc64:sparc64-linux-gnu: mips:mips-linux-gnu: mipsel:mipsel-linux-gnu: m68k:m68k-linux-gnu: windows:x86_64-w64-mingw32:"

machines=$everyday
[ "${1:-}" = --all ] && machines="$everyday $others"
if [ -n "${MACHINES:-}" ]; then
  chosen=
  for name in $MACHINES; do
    found=$(tr ' ' '\n' <<<"$everyday $others" | grep "^$name:") ||
      { echo "test-machines: no machine '$name'; there are: $(tr ' ' '\n' <<<"$everyday $others" | cut -d: -f1 | tr '\n' ' ')" >&2; exit 2; }
    chosen="$chosen $found"
  done
  machines=$chosen
fi

# An emulator keeps a record of every page of address space, a reserved one too.
export IW_RESERVATION_MIB=256

for machine in $machines; do
  IFS=: read -r name triplet page_bytes <<<"$machine"
  folder=$BUILD/machines/$name
  begin=$SECONDS
  mkdir -p "$folder"
  # What make/sysroots.sh has unpacked; TLS is tested where it is.
  sysroot=$(realpath -m "$BUILD/machines/sysroots/$name")
  [ -e "$sysroot/complete" ] || sysroot=
  cmake -S native -B "$folder" -G Ninja --toolchain "$PWD/native/cmake/cross.cmake" \
    -DIW_TARGET="$triplet" \
    -DIW_PAGE_BYTES="$page_bytes" -DIW_PROGRAM="$PWD/target/release/interweave" -DIW_TESTS=ON \
    -DIW_SYSROOT="$sysroot" \
    -DCMAKE_BUILD_TYPE=Release -DIW_RELEASE_FLAGS="-O1 -DNDEBUG" >"$folder/configure.log" 2>&1 ||
    { cat "$folder/configure.log"; exit 1; }
  cmake --build "$folder" --parallel "$jobs" --target all tests -- --quiet
  built=$SECONDS
  ctest --test-dir "$folder" --output-on-failure --no-tests=error --parallel "$jobs" --timeout 900 \
    --quiet -O "$folder/tests.log" || {
      cat "$folder/tests.log"
      echo "test-machines: FAILED on $name"
      exit 1
    }
  echo "$name: $(grep -c ' Passed ' "$folder/tests.log") test programs passed (built in $((built - begin)) s, run in $((SECONDS - built)) s)"
  [ "$name" != windows ] || make/test_windows.sh
done
