#!/usr/bin/env bash
# All that a release consists of, in $BUILD/packaging/dist: sources, Python wheels, npm package,
# Java artifacts, packages for Debian, the licences of other people's work, and checksums of all.
#
#   packaging/dist.sh [PART...]    source, wheel, npm, java, deb, licences; all of them by default
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
BUILD=$(realpath -m "$BUILD")
dist=$BUILD/packaging/dist
parts=("${@:-source wheel npm java deb licences}")
[ $# -gt 0 ] || rm -rf "$dist"
mkdir -p "$dist"

make_part() {
  phase "$1"
  case $1 in
    source)
      [ -z "$(git status --porcelain)" ] ||
        echo "dist: the source archive has the last commit, not what is changed here since" >&2
      packaging/source.sh
      ;;
    wheel)
      packaging/portable.sh
      packaging/wheel.sh
      ;;
    npm | deb) packaging/"$1".sh ;;
    java)
      make/java.sh build
      # As a Maven repository, which a build names by its folder.
      tar -C "$BUILD/java" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 \
        -cf - repository | gzip --best --no-name >"$dist/interweave-java-repository.tar.gz"
      ;;
    licences) packaging/licences.py list >"$dist/LICENCES.md" ;;
    *)
      echo "dist: '$1' is not one of source, wheel, npm, java, deb, licences" >&2
      exit 2
      ;;
  esac
}

make/build.sh install
# shellcheck disable=SC2068
for part in ${parts[@]}; do make_part "$part"; done
cd "$dist"
rm -f SHA256SUMS
sha256sum -- * >SHA256SUMS
echo "dist: $(wc -l <SHA256SUMS) files in $dist"
