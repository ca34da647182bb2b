#!/usr/bin/env bash
# The packages for Debian and Ubuntu, for this machine's release: $BUILD/packaging/dist/*.deb, by
# Debian's own tools, from what make/build.sh has built. lintian must find nothing to warn of.
set -euo pipefail
cd "$(dirname "$0")/.."
BUILD=$(realpath -m "${BUILD:-build}")
out=$BUILD/packaging/deb
dist=${DIST:-$BUILD/packaging/dist}
version=${DEB_VERSION:-}
rm -rf "$out"
mkdir -p "$out/interweave" "$dist"
cp -r packaging/debian "$out/interweave/debian"
cp server/packaging/interweave.sysusers "$out/interweave/debian/"
cd "$out/interweave"
# Another version than the changelog's, for tests of an upgrade.
[ -z "$version" ] || sed -i "1s/(.*)/($version)/" debian/changelog
TREE=$OLDPWD dpkg-buildpackage --build=binary --no-sign --no-check-builddeps >"$out/log" 2>&1 || {
  cat "$out/log"
  exit 1
}
# The address of who maintains the packages is theirs to set, who publish them.
lintian --allow-root --fail-on warning,error \
  --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "$out"/*.changes || {
  echo "deb: lintian found something" >&2
  exit 1
}
rm -f "$dist"/*.deb
cp "$out"/*.deb "$dist/"
ls -1 "$dist"/*.deb
