#!/usr/bin/env bash
# Makes every package and tries it as its user would. After make/build.sh install.
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
BUILD=$(realpath -m "$BUILD")
results=$(realpath -m "${RESULTS:-$BUILD/tests/packages}")
dist=$BUILD/packaging/dist
program=target/release/interweave
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
mkdir -p "$results"
number=0
status=0
: >"$results/packages.tap"

# holds NAME COMMAND...: a case of its own, which does not end the others. A command that cannot be
# tried here ends with 77.
holds() {
  local outcome=0
  number=$((number + 1))
  "${@:2}" || outcome=$?
  case $outcome in
    0) echo "ok $number - $1" ;;
    77) echo "ok $number - $1 # SKIP" ;;
    *)
      echo "not ok $number - $1"
      status=1
      ;;
  esac >>"$results/packages.tap"
}
make_wheel() {
  # Wheels of an older commit would be tried, too.
  rm -f "$dist"/*.whl
  packaging/portable.sh
  packaging/wheel.sh 3.11
}
newer_debs() {
  mkdir -p "$BUILD/packaging/newer"
  DEB_VERSION=$version+newer DIST=$BUILD/packaging/newer packaging/deb.sh
}
holds "all places say the same version" packaging/tests/versions.sh
holds "the C interface is the kept one" packaging/tests/abi.sh
holds "the stores of earlier releases are read" packaging/tests/samples.sh "$program"
holds "a project that fetches InterWeave builds without Rust" packaging/tests/fetched.sh "$program"
holds "the source archive has the same bytes from another clone" packaging/tests/source.sh
holds "the npm package is made" packaging/npm.sh
holds "the npm package works in an empty folder" \
  packaging/tests/npm.sh "$program" "$dist/interweave-$version.tgz"
holds "the wheel is made" make_wheel
holds "the wheel works without compilers" packaging/tests/wheel.sh "$dist"
holds "the container's archive is made" packaging/container.sh
holds "the container's commands make a server that keeps its segments" \
  packaging/tests/container.sh "$dist/interweave-$version-container-$(uname -m).tar.gz"
holds "the packages for Debian are made, and lintian warns of nothing" packaging/deb.sh
holds "packages of a later version are made" newer_debs
holds "install, upgrade, remove and purge keep the store" \
  packaging/tests/deb.sh "$dist" "$BUILD/packaging/newer"
exit "$status"
