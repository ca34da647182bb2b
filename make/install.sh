#!/usr/bin/env bash
# Installs the program, headers, libraries, pkg-config and CMake files into PREFIX.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --install "$BUILD/release" --prefix "$PREFIX" >/dev/null
install -D -m 755 target/release/interweave "$PREFIX/bin/interweave"
echo "installed in $PREFIX: bin/interweave, include/, lib/ (pkg-config interweave, CMake package interweave)"
