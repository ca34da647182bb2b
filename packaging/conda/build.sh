#!/usr/bin/env bash
# conda-build runs this, with PREFIX and PYTHON, in the sources.
set -euo pipefail
export IW_SETUP=skip IW_CACHE="${IW_CACHE:-none}"
cargo build --release --locked -p interweave-idl -p interweave-cli
cmake -S . -B build/conda -G Ninja -DCMAKE_BUILD_TYPE=Release -DIW_EXAMPLES=OFF \
  -DIW_PROGRAM="$PWD/target/release/interweave"
cmake --build build/conda --target installed
cmake --install build/conda --prefix "$PREFIX" --strip
install -D -m 755 --strip target/release/interweave "$PREFIX/bin/interweave"
# The program lies in Python's folder, and so the package finds it on the path.
"$PYTHON" -m pip install --no-deps --no-build-isolation --quiet \
  -Ccmake.define.INTERWEAVE_LIBRARY="$PWD/build/conda/native/abi/libinterweave.a" ./python
