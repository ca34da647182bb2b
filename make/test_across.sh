#!/usr/bin/env bash
# Programs of the paper across machines that are unlike each other, over one native server: Figure
# 1's list, inserted from a big-endian machine of 32 bits and searched here, and the other way;
# Astroflow's viewer on a big-endian machine of 64 bits. Takes the libraries that
# make/test_machines.sh has built.
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
root=$PWD
build=$(realpath "$BUILD")
. make/real_server.sh
export IW_RESERVATION_MIB=256

# The list of Figure 1 for the machine NAME TRIPLET, built from outside the tree.
build_list() {
  cmake --install "$build/machines/$1" --prefix "$work/$1" >/dev/null
  local flags
  flags=$(PKG_CONFIG_LIBDIR="$work/$1/lib/pkgconfig" pkg-config --static --cflags --libs interweave)
  # shellcheck disable=SC2086
  "$2-gcc" -static -o "$work/list-$1" -std=c99 -I"$work" "$root"/examples/list/*.c \
    "$work/list.c" $flags 2>"$work/list-$1.log" ||
    fail "Figure 1's list does not build for $1"
}

show() { "$@" --url "$address/list" show | tr '\n' ' '; }

lists_are_shared() {
  target/release/interweave compile examples/list/list.x --lang c --out "$work"
  build_list powerpc powerpc-linux-gnu
  build_list s390x s390x-linux-gnu
  local here="$build/release/examples/list/list"
  qemu-ppc-static "$work/list-powerpc" --url "$address/list" insert 7 11 -2147483648
  "$here" --url "$address/list" search 11 || fail "what powerpc inserted is not found here"
  "$here" --url "$address/list" insert 2147483647
  qemu-s390x-static "$work/list-s390x" --url "$address/list" search 2147483647 ||
    fail "what was inserted here is not found on s390x"
  local keys
  keys=$(show "$here")
  [ "$keys" = "$(show qemu-ppc-static "$work/list-powerpc")" ] ||
    fail "powerpc shows another list than '$keys'"
  [ "$keys" = "$(show qemu-s390x-static "$work/list-s390x")" ] ||
    fail "s390x shows another list than '$keys'"
  echo "across: one list from powerpc, s390x and here: $keys"
}

viewer_sees_the_simulators_bits() {
  cmake -S examples -B "$build/machines/s390x-examples" -G Ninja \
    --toolchain "$root/native/cmake/cross.cmake" \
    -DIW_TARGET=s390x-linux-gnu -DIW_TESTS=OFF -DIW_PROGRAM="$root/target/release/interweave" \
    -DIW_IDL="$root/target/release/interweave;compile" \
    -DINTERWEAVE_LIBRARY=interweave::interweave_static \
    -Dinterweave_DIR="$work/s390x/lib/cmake/interweave" \
    >"$work/examples.log" 2>&1 || fail "configuring the examples for s390x"
  cmake --build "$build/machines/s390x-examples" --target astroflow-viewer --parallel "$JOBS" \
    >"$work/examples.log" 2>&1 ||
    fail "building Astroflow's viewer for s390x"
  qemu-s390x-static "$build/machines/s390x-examples/astroflow/astroflow-viewer" \
    --url "$address/sod" --headless \
    --until-finished --summary "$work/viewer.json" >"$work/viewer.log" 2>&1 &
  local viewer=$!
  "$build/release/examples/astroflow/astroflow-simulator" --url "$address/sod" --problem sod \
    --frames 40 --quiet --summary "$work/simulator.json" >"$work/simulator.log" 2>&1 &
  others=$!
  wait "$others" || fail "the simulator"
  others=
  wait "$viewer" || fail "the viewer on s390x"
  [ -n "$(field "$work/viewer.json" checksum)" ] || fail "the viewer says no checksum"
  [ "$(field "$work/viewer.json" checksum)" = "$(field "$work/simulator.json" checksum)" ] ||
    fail "the viewer on s390x ended with other values than the simulator"
  echo "across: Astroflow's viewer on s390x ends with the simulator's values"
}

start_server target/release/interweave
lists_are_shared
viewer_sees_the_simulators_bits
