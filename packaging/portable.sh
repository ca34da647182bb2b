#!/usr/bin/env bash
# The program and the client library for any Linux with glibc 2.28 or newer (manylinux_2_28), in
# $BUILD/packaging/portable: interweave, libinterweave.a, and bin/ with the compilers.
# The compiler is clang with a stub of that glibc, from the package ziglang of PyPI; it links C++'s
# library into what it makes. Cargo's crates are those of `make build`: only the program is linked
# anew. A name that glibc 2.28 lacks ends the link.
#
#   packaging/portable.sh           after make/build.sh
#   packaging/portable.sh tools     only the compilers and what else builds wheels
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
BUILD=$(realpath -m "$BUILD")
out=$BUILD/packaging/portable
tools=$BUILD/packaging/tools
mkdir -p "$out/bin"

fetch_tools() {
  cmp -s packaging/wheel/requirements.txt "$tools/requirements.txt" && return
  rm -rf "$tools"
  "${PYTHON:-python3}" -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check -r packaging/wheel/requirements.txt
  cp packaging/wheel/requirements.txt "$tools/"
}

# compiler NAME ARGUMENT...: a command that calls one of zig's. rustc asks for GCC's library, which
# unwinds the stack; zig has one of its own.
compiler() {
  cat >"$out/bin/$1.new" <<END
#!/usr/bin/env bash
set -- "\${@/#-lgcc_s/-lunwind}"
exec "$tools/bin/python" -m ziglang ${*:2} "\$@"
END
  chmod +x "$out/bin/$1.new"
  # Unchanged, it keeps its time, by which ccache knows a compiler.
  cmp -s "$out/bin/$1.new" "$out/bin/$1" && rm "$out/bin/$1.new" ||
    mv "$out/bin/$1.new" "$out/bin/$1"
}

library() {
  phase "the client library for glibc 2.28"
  CCACHE_COMPILERTYPE=clang cmake -S native -B "$out/native" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DIW_RELEASE_FLAGS="-O3 -DNDEBUG" -DIW_READ_HEADERS_ONCE=ON \
    -DCMAKE_C_COMPILER="$out/bin/cc" -DCMAKE_CXX_COMPILER="$out/bin/c++" \
    -DCMAKE_AR="$out/bin/ar" -DCMAKE_RANLIB="$out/bin/ranlib" >"$out/configure.log" 2>&1 ||
    { cat "$out/configure.log"; return 1; }
  CCACHE_COMPILERTYPE=clang ninja -C "$out/native" -j "$JOBS" "${quiet_ninja[@]}" interweave
  cp "$out/native/abi/libinterweave.a" "$out/"
}

# The crates that the program was built from, copied: cargo would replace the program itself.
program() {
  phase "the program for glibc 2.28"
  local from=target/release to=$out/cargo/release
  rm -rf "$out/cargo"
  mkdir -p "$to/deps"
  cp -a --reflink=auto "$from/.fingerprint" "$from/build" "$to/"
  find "$from/deps" -name 'lib*' -exec cp -a --reflink=auto -t "$to/deps" {} +
  cp -a "$from"/deps/*.d "$to/deps/"
  CARGO_TARGET_DIR=$out/cargo cargo rustc --release --quiet --locked -p interweave-cli \
    --bin interweave -- -Clinker="$out/bin/cc"
  strip -o "$out/interweave" "$to/interweave"
}

fetch_tools
target="-target x86_64-linux-gnu.2.28"
compiler cc cc "$target"
compiler c++ c++ "$target"
compiler ar ar
compiler ranlib ranlib
case "${1:-all}" in
  tools) ;;
  all)
    library
    program
    ;;
  *)
    echo "portable: '$1' is not one of tools" >&2
    exit 2
    ;;
esac
