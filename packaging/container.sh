#!/usr/bin/env bash
# The archive that a container is built of: the container file, and the program for glibc 2.28 or
# newer. After packaging/portable.sh.
# $BUILD/packaging/dist/interweave-VERSION-container-MACHINE.tar.gz
set -euo pipefail
cd "$(dirname "$0")/.."
BUILD=$(realpath -m "${BUILD:-build}")
dist=$BUILD/packaging/dist
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
name=interweave-$version-container
out=$BUILD/packaging/container
rm -rf "$out"
mkdir -p "$out/$name" "$dist"
install -D -m 755 "$BUILD/packaging/portable/interweave" "$out/$name/bin/interweave"
install -m 644 server/packaging/Containerfile LICENSE "$out/$name/"
packaging/licences.py program >"$out/$name/LICENSES-third-party.txt"
tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime=@0 \
  -cf - "$name" | gzip --best --no-name >"$dist/$name-$(uname -m).tar.gz"
echo "$dist/$name-$(uname -m).tar.gz"
