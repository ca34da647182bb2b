#!/usr/bin/env bash
# The commands of the recipes of Spack and conda, without these tools: in the unpacked sources, with
# no cache and an environment that has nothing of the tree. Some minutes of compilation.
#
#   packaging/tests/recipes.sh DIST     the folder of the archives
set -euo pipefail
dist=$(realpath "$1")
cd "$(dirname "$0")/../.."
tests=$PWD/packaging/tests
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "FAILED: $*" >&2
  cat "$work"/*.log >&2 2>/dev/null || true
  exit 1
}
tar -xzf "$dist/interweave-$version-recipes.tar.gz" -C "$work"
recipes=$work/interweave-$version-recipes
sources=$dist/interweave-$version-source.tar.gz
sum=$(sha256sum "$sources" | cut -d' ' -f1)
tar -xzf "$sources" -C "$work"
tree=$work/interweave-$version

clean_environment() {
  env -i PATH="$PATH" HOME="$HOME" CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" IW_CACHE=none \
    ${CARGO_BUILD_JOBS:+CARGO_BUILD_JOBS="$CARGO_BUILD_JOBS"} \
    ${JOBS:+CMAKE_BUILD_PARALLEL_LEVEL="$JOBS"} "$@"
}
# works PREFIX: an installation that a program can be built with.
works() {
  [ "$("$1/bin/interweave" --version)" = "interweave $version" ] || fail "$1 has no program"
  echo 'struct point { double x; };' >"$work/point.x"
  "$1/bin/interweave" compile "$work/point.x" --lang c --out "$work"
  echo '#include <interweave.h>
#include "point.h"
int main(void) { return IW_strerror() == 0; }' >"$work/main.c"
  # shellcheck disable=SC2046
  cc "$work/main.c" "$work/point.c" \
    $(PKG_CONFIG_PATH=$1/lib/pkgconfig pkg-config --cflags --libs interweave) \
    -Wl,-rpath,"$1/lib" -o "$work/main" >"$work/cc.log" 2>&1 || fail "$1 does not build a program"
  "$work/main" || fail "a program of $1 does not run"
}

(cd "$tree" && clean_environment PYTHONPATH="$tests/spack" python3 -B \
  "$tests/spack/install.py" "$recipes/spack/package.py" "$work/spack" "$sum") \
  >"$work/spack.log" 2>&1 || fail "Spack's recipe"
works "$work/spack"
for made in include/fortran lib/libinterweave_fortran.a lib/pkgconfig/interweave-cluster.pc; do
  [ -e "$work/spack/$made" ] || fail "Spack's recipe leaves out $made"
done
echo "recipes: the commands of Spack's recipe build and install"

python3 -m venv "$work/conda"
needs=$(sed -n '/^  host:/,/^  run:/s/^    - \(.* ==.*\)/\1/p' "$recipes/conda/meta.yaml" |
  tr -d ' ')
# shellcheck disable=SC2086
"$work/conda/bin/pip" install --quiet --disable-pip-version-check $needs numpy
(cd "$tree" && clean_environment PREFIX="$work/conda" PYTHON="$work/conda/bin/python" \
  bash -e "$recipes/conda/build.sh") >"$work/conda.log" 2>&1 || fail "conda's recipe"
works "$work/conda"
while read -r command; do
  PATH=$work/conda/bin:/usr/bin:/bin sh -c "$command" >"$work/command.log" 2>&1 ||
    fail "conda's test: $command"
done < <(sed -n '/^  commands:/,/^$/s/^    - //p' "$recipes/conda/meta.yaml")
echo "recipes: the commands of conda's recipe build and install"
