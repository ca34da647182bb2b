#!/usr/bin/env bash
# Installs the program, headers, libraries, pkg-config and CMake files into PREFIX, without debug
# information. With TARGET, the triplet of another machine (s390x-linux-gnu): the client library for
# it, cross-built, and no program.
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh

# put FOLDER STRIP: installs what was built in FOLDER. CMake strips programs and shared libraries
# only; a static library keeps the names that programs are linked by.
put() {
  cmake --install "$1" --prefix "$PREFIX" --strip >/dev/null
  while read -r file || [ -n "$file" ]; do
    [[ $file != *.a || $file = *.dll.a ]] ||
      "$2" --strip-debug --enable-deterministic-archives "$file"
  done <"$1/install_manifest.txt"
}

if [ -n "${TARGET:-}" ]; then
  folder=$BUILD/cross/$TARGET
  mkdir -p "$folder"
  cmake -S native -B "$folder" -G Ninja --toolchain "$PWD/native/cmake/cross.cmake" \
    -DIW_TARGET="$TARGET" -DCMAKE_BUILD_TYPE=Release >"$folder/configure.log" 2>&1 || {
    # What is missing, by name; all of it only when that is not the reason.
    grep -A1 '^  The cross compiler' "$folder/configure.log" >&2 || cat "$folder/configure.log" >&2
    exit 1
  }
  phase "the client library for $TARGET"
  cmake --build "$folder" --parallel "$JOBS" --target interweave interweave_shared -- \
    "${quiet_ninja[@]}"
  put "$folder" "$TARGET-strip"
  echo "installed in $PREFIX for $TARGET: include/, lib/ (pkg-config interweave, CMake package interweave)"
  exit 0
fi
put "$BUILD/release" strip
install -D -m 755 --strip target/release/interweave "$PREFIX/bin/interweave"
mkdir -p "$PREFIX/lib/systemd/system"
sed "s|@PREFIX@|$PREFIX|" server/packaging/interweave.service \
  >"$PREFIX/lib/systemd/system/interweave.service"
install -D -m 644 server/packaging/interweave.sysusers "$PREFIX/lib/sysusers.d/interweave.conf"
install -D -m 644 server/packaging/Containerfile "$PREFIX/share/interweave/Containerfile"
target/release/interweave man "$PREFIX/share/man/man1" >/dev/null
for shell in bash:bash-completion/completions/interweave zsh:zsh/site-functions/_interweave \
  fish:fish/vendor_completions.d/interweave.fish; do
  mkdir -p "$(dirname "$PREFIX/share/${shell#*:}")"
  target/release/interweave completions "${shell%%:*}" >"$PREFIX/share/${shell#*:}"
done
echo "installed in $PREFIX: bin/interweave, include/, lib/ (pkg-config interweave, CMake package interweave)"
