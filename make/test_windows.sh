#!/usr/bin/env bash
# Windows beyond the library's own tests (make/test_machines.sh): what `make install TARGET=` leaves
# there is used from outside by Figure 1's list, with the DLL and without, over a native server and
# with the native list; then the conformance agent meets the native one. Programs of
# Windows run in wine.
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
root=$PWD
triplet=x86_64-w64-mingw32
BUILD=$(realpath -m "$BUILD")
export BUILD
export PATH=$PATH:/usr/lib/wine  # where Debian has wine64
export WINEPREFIX=$BUILD/machines/windows/wine WINEDEBUG=-all \
  WINEDLLOVERRIDES="winedbg.exe,mscoree,mshtml=d"
. make/real_server.sh
prefix=$work/prefix

# by_pkg_config PROGRAM [--static], which both gcc and pkg-config know.
by_pkg_config() {
  # shellcheck disable=SC2046
  "$triplet-gcc-posix" -std=c99 -I"$work" "$root"/examples/list/*.c "$work/list.c" "${@:2}" \
    -o "$work/$1.exe" \
    $(PKG_CONFIG_LIBDIR="$prefix/lib/pkgconfig" pkg-config "${@:2}" --cflags --libs interweave) \
    2>"$work/$1.log" ||
    fail "Figure 1's list does not build for Windows by pkg-config ${*:2}"
}

by_cmake() {
  cmake -S make/outside -B "$work" -G Ninja --toolchain "$root/native/cmake/cross.cmake" \
    -DIW_TARGET=$triplet \
    -DLIST="$root/examples/list" -DGENERATED="$work" \
    -Dinterweave_DIR="$prefix/lib/cmake/interweave" >"$work/cmake.log" 2>&1 ||
    fail "the installed package is not found by CMake"
  cmake --build "$work" >"$work/cmake.log" 2>&1 ||
    fail "Figure 1's list does not build for Windows by CMake"
}

# A program of Windows, its lines without the carriage returns.
wine_list() {
  wine64 "$work/$1.exe" --url "$address/list" "${@:2}" 2>"$work/wine.log" | tr -d '\r'
}

lists_are_shared() {
  local key=0 here="$BUILD/release/examples/list/list" program
  for program in "$@"; do
    key=$((key + 1))
    wine_list "$program" insert "$key" || fail "$program inserts nothing"
    "$here" --url "$address/list" search "$key" || fail "what $program inserted is not found here"
    "$here" --url "$address/list" insert "-$key"
    wine_list "$program" search "-$key" || fail "what was inserted here is not found by $program"
  done
  local keys
  keys=$("$here" --url "$address/list" show)
  for program in "$@"; do
    [ "$(wine_list "$program" show)" = "$keys" ] || fail "$program shows another list than '$keys'"
  done
}

TARGET=$triplet PREFIX=$prefix make/install.sh >/dev/null
target/release/interweave compile examples/list/list.x --lang c --out "$work"
by_pkg_config list-dll
by_pkg_config list-static --static
by_cmake
start_server target/release/interweave --insecure  # Windows finds no token of the server's own
lists_are_shared list-static list-interweave_static
cp "$prefix/bin/libinterweave.dll" "$work"  # Windows looks beside the program
lists_are_shared list-dll list-interweave
echo "windows: an installation serves programs built by pkg-config and CMake, with the DLL and without"
MACHINES=windows make/test_conformance.sh
