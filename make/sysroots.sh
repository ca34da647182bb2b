#!/usr/bin/env bash
# OpenSSL of the emulated machines, for their tests of TLS: $BUILD/machines/sysroots/MACHINE has
# libssl3 of the distribution, only unpacked, and the cross compiler's C library. Nothing is
# installed, and this machine stays one of its own architecture: apt works with a state of its own,
# and checks signatures as always. Does nothing where the package is there.
set -euo pipefail
cd "$(dirname "$0")/.."
sysroots=$(realpath -m "${BUILD:-build}/machines/sysroots")
# name triplet architecture; Debian has no libssl3 of today for powerpc.
machines="s390x:s390x-linux-gnu:s390x i686:i686-linux-gnu:i386 aarch64:aarch64-linux-gnu:arm64"

# download ARCHITECTURE: into the current folder.
download() {
  local state options
  state=$(mktemp -d)
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
  touch "$state/status"
  options=(-qq -o "Dir::State=$state" -o "Dir::State::status=$state/status"
    -o "Dir::Cache=$state/cache" -o "APT::Architecture=$1" -o "APT::Architectures=$1"
    -o APT::Sandbox::User=root -o Acquire::Languages=none
    -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false)
  # A mirror may lack one of several indices for a while; what came may be enough.
  apt-get "${options[@]}" update || true
  local status=0
  apt-get "${options[@]}" download libssl3 || status=$?
  rm -rf "$state"
  return $status
}

for machine in $machines; do
  IFS=: read -r name triplet architecture <<<"$machine"
  folder=$sysroots/$name
  [ ! -e "$folder/complete" ] || continue
  rm -rf "$folder"
  mkdir -p "$folder/with" "$folder/without"
  echo "setup: fetching libssl3 of $architecture"
  (cd "$folder" && download "$architecture") || {
    echo "setup: no libssl3 of $architecture; TLS is not tested on $name" >&2
    continue
  }
  dpkg-deb -x "$folder"/libssl3*.deb "$folder/with"
  # Debian gives the folder of i686 another name.
  ln -s "$(basename "$(dirname "$(find "$folder/with" -name libssl.so.3)")")" \
    "$folder/with/usr/lib/machine"
  for root in with without; do ln -s "/usr/$triplet/lib" "$folder/$root/lib"; done
  touch "$folder/complete"
done
