#!/usr/bin/env bash
# The source archive: what git has of the last commit, the same bytes from every clone.
# $BUILD/packaging/dist/interweave-VERSION-source.tar.gz
set -euo pipefail
cd "$(dirname "$0")/.."
dist=$(realpath -m "${BUILD:-build}")/packaging/dist
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
name=interweave-$version
mkdir -p "$dist"
# Times of all files are that of the commit; gzip writes no time of its own.
git -c tar.umask=0022 archive --format=tar --prefix="$name/" HEAD |
  gzip --best --no-name >"$dist/$name-source.tar.gz"
echo "$dist/$name-source.tar.gz"
