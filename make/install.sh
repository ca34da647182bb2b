#!/usr/bin/env bash
# Installs the program, headers, libraries, pkg-config and CMake files into PREFIX. With TARGET, the
# triplet of another machine (s390x-linux-gnu): the client library for it, cross-built, and no program.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -n "${TARGET:-}" ]; then
  folder=$BUILD/cross/$TARGET
  mkdir -p "$folder"
  cmake -S native -B "$folder" -G Ninja --toolchain "$PWD/native/cmake/cross.cmake" -DIW_TARGET="$TARGET" -DIW_TESTS=OFF \
    -DCMAKE_BUILD_TYPE=Release >"$folder/configure.log" 2>&1 || {
    # What is missing, by name; all of it only when that is not the reason.
    grep -A1 '^  There is no cross compiler' "$folder/configure.log" >&2 || cat "$folder/configure.log" >&2
    exit 1
  }
  cmake --build "$folder" --parallel "${JOBS:-2}" --target interweave interweave_shared -- --quiet
  cmake --install "$folder" --prefix "$PREFIX" >/dev/null
  echo "installed in $PREFIX for $TARGET: include/, lib/ (pkg-config interweave, CMake package interweave)"
  exit 0
fi
cmake --install "$BUILD/release" --prefix "$PREFIX" >/dev/null
install -D -m 755 target/release/interweave "$PREFIX/bin/interweave"
echo "installed in $PREFIX: bin/interweave, include/, lib/ (pkg-config interweave, CMake package interweave)"
