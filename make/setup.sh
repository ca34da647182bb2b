#!/usr/bin/env bash
# Installs what building, testing and the demo need: packages of Debian or Ubuntu, and the crates that
# Cargo.lock names (fetched by cargo itself). Does nothing when everything is there.
#   make/setup.sh rdma    also what `make test-rdma` needs: an emulator of a PC, and a kernel for its guest in
#                         $BUILD/rdma
set -euo pipefail
cd "$(dirname "$0")/.."

# One line a purpose.
packages=(
  g++ gcc make cmake ninja-build pkg-config git ca-certificates
  gfortran libgtest-dev clang-format python3 python3-dev python3-venv
  libpng-dev
  redis-server libhiredis-dev memcached
  libtirpc-dev rpcsvc-proto libflatbuffers-dev flatbuffers-compiler libcapnp-dev capnproto libprotobuf-dev
  protobuf-compiler gnuplot-nox
  clang libclang-rt-14-dev
  libucx-dev openmpi-bin libpmix-dev
  nftables iproute2
  googletest qemu-user-static g++-s390x-linux-gnu g++-powerpc-linux-gnu g++-i686-linux-gnu g++-aarch64-linux-gnu
  chromium
  libcurl4-gnutls-dev nlohmann-json3-dev
)
case "${1:-}" in
  '') ;;
  rdma) packages+=(qemu-system-x86 rdma-core ibverbs-providers iproute2 busybox-static kmod cpio) ;;
  *) echo "setup: there is no set '$1'" >&2; exit 2 ;;
esac
# The oldest Rust that builds the server. A distribution whose rustc is older has rustc-web beside it.
rust_minor_min=95

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else
    echo "setup: installing packages needs root or sudo: $*" >&2
    exit 1
  fi
}

rust_is_new_enough() {
  command -v cargo >/dev/null && command -v rustfmt >/dev/null && command -v cargo-clippy >/dev/null || return 1
  local minor
  minor=$(rustc --version | sed -E 's/^rustc 1\.([0-9]+)\..*/\1/')
  [ "$minor" -ge "$rust_minor_min" ]
}

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
command -v node >/dev/null && command -v npm >/dev/null || missing+=(nodejs npm)
rust_is_new_enough || missing+=(rustc-web cargo-web rustfmt-web rust-web-clippy)

if [ ${#missing[@]} -gt 0 ]; then
  if ! command -v apt-get >/dev/null; then
    echo "setup: this system has no apt-get; install these yourself: ${missing[*]}" >&2
    exit 1
  fi
  echo "setup: installing ${missing[*]}"
  as_root apt-get -qq -o DPkg::Lock::Timeout=600 update
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=600 \
    install --no-install-recommends "${missing[@]}" >/dev/null
fi
rust_is_new_enough || {
  echo "setup: Rust 1.$rust_minor_min or newer with rustfmt and clippy is needed; found: $(rustc --version 2>/dev/null || echo none)" >&2
  exit 1
}

# The guest's kernel is only unpacked, never installed.
guest_kernel() {
  local folder package
  folder=${BUILD:-build}/rdma
  ls "$folder"/linux-image-*.deb >/dev/null 2>&1 && return
  package=$(apt-cache depends linux-image-amd64 | awk '$1 == "Depends:" { found = $2 } END { print found }')
  [ -n "$package" ] || { echo "setup: no linux-image-amd64 among this distribution's packages" >&2; exit 1; }
  mkdir -p "$folder"
  echo "setup: fetching $package"
  (cd "$folder" && apt-get -qq -o APT::Sandbox::User=root download "$package")
}
[ "${1:-}" != rdma ] || guest_kernel
