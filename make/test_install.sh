#!/usr/bin/env bash
# Installs into an empty prefix and builds the paper's Figure 1 from outside the tree, once with
# pkg-config and once with CMake; both then share a list through an installed server. So it is with
# the cluster's library: every name, what its guides print as programs and CMake files, and the
# paper's aString.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
. make/real_server.sh
prefix="$work/prefix"
PREFIX="$prefix" make/install.sh >/dev/null
found=$(grep -rlF "$root" "$prefix" || true)
[ -z "$found" ] || fail "installed files hold the builder's path:" "$found"
for file in "$prefix"/bin/* "$prefix"/lib/*.so "$prefix"/lib/*.a; do
  ! grep -qF .debug_info <<<"$(readelf -SW "$file")" || fail "$file is not stripped"
done
cp examples/list/list.x examples/list/*.c examples/list/*.h "$work/" 2>/dev/null ||
  cp examples/list/* "$work/"
cd "$work"

"$prefix/bin/interweave" compile list.x --lang c --out generated
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
# shellcheck disable=SC2046
gcc -std=c99 -Igenerated $(pkg-config --cflags interweave) ./*.c generated/list.c \
  $(pkg-config --libs interweave) "-Wl,-rpath,$prefix/lib" -o list-pkgconfig

# The cluster's library: its names, and the programs of its guides.
flags=$(pkg-config --cflags --libs interweave-cluster)
block_of() {
  awk -v begin="\`\`\`$2" '$0 == begin { inside = 1; next } /^```$/ { inside = 0 } inside' \
    "$root/docs/$1.md"
}
mkdir cluster
block_of am c >cluster/messages.c
block_of ddss c >cluster/visits.c
block_of dsm c >cluster/sum.c
block_of containers cpp >cluster/tally.cc
# shellcheck disable=SC2086
for program in messages visits sum; do
  gcc -std=c99 cluster/$program.c $flags -o cluster/$program
done
# shellcheck disable=SC2086
gcc -std=c99 "$root/make/outside/cluster_names.c" $flags -o cluster/names
# shellcheck disable=SC2086
g++ -std=c++20 cluster/tally.cc $flags -o cluster/tally
# shellcheck disable=SC2086
g++ -std=c++20 -I"$root/cluster/containers" "$root/make/outside/paper_string.cc" $flags \
  -o cluster/paper_string
[ "$(cluster/names)" = "all there" ] || fail "the cluster's library does not have all of its names"
[ "$(timeout 60 cluster/messages)" = 5 ] || fail "the program of docs/am.md does not print 5"
timeout 60 "$root/cluster/ddss/guide_test.sh" cluster/visits "$prefix/bin/interweave-ddss" ||
  fail "docs/ddss.md"
timeout 60 "$root/cluster/dsm/guide_test.sh" cluster/sum || fail "docs/dsm.md"
with_names() {
  timeout 60 "$root/cluster/containers/guide_test.sh" "$1" "$prefix/bin/interweave-amns" "$2"
}
with_names cluster/tally "shipped 3 times" || fail "docs/containers.md"
with_names cluster/paper_string "as printed" || fail "the paper's aString"

# with_cmake SOURCE BUILD [OPTION]...
with_cmake() {
  { cmake -S "$1" -B "$2" -DCMAKE_PREFIX_PATH="$prefix" "${@:3}" &&
    cmake --build "$2"; } >project.log 2>&1 ||
    fail "$1 does not build with CMake"
}
with_cmake "$root/make/outside" project -DLIST="$work" -DGENERATED="$work/generated"
with_cmake "$root/make/outside/cluster" project-c
[ "$(project-c/names)" = "all there" ] ||
  fail "a CMake project in C lacks names of the cluster's library"
{
  printf '%s\n' 'cmake_minimum_required(VERSION 3.20)' 'project(guide LANGUAGES CXX)'
  block_of containers cmake
} >cluster/CMakeLists.txt
with_cmake cluster project-cpp
with_names project-cpp/tally "shipped 3 times" || fail "the CMake lines of docs/containers.md"

start_server "$prefix/bin/interweave"
./list-pkgconfig --url "$address/list" insert 7 11
./project/list-interweave --url "$address/list" search 11
./project/list-interweave_static --url "$address/list" search 7
kill -TERM "$server"
wait "$server" || fail "the server did not stop cleanly"
server=
"$root/make/test_service.sh" "$prefix"
"$root/make/test_two_machines.sh" "$prefix" ./list-pkgconfig
echo "install: pkg-config, CMake package and program work from outside"
