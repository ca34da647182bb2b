#!/usr/bin/env bash
# All that a release consists of, in $BUILD/packaging/dist: sources, Python wheels, npm package,
# Java artifacts, packages for Debian, container, recipes, the licences of other people's work.
# MANIFEST.md lists all files, and what was left out and why; SHA256SUMS has all checksums.
#
#   packaging/dist.sh [PART...]    source, wheel, npm, java, deb, container, recipes, licences;
#                                  all of them by default
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
BUILD=$(realpath -m "$BUILD")
dist=$BUILD/packaging/dist
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
parts=(source wheel npm java deb container recipes licences)
some_alone=$*
if [ $# -gt 0 ]; then parts=("$@"); else rm -rf "$dist"; fi
mkdir -p "$dist"
# Each part may add a line: what it could not make here.
export LEFT_OUT=$BUILD/packaging/left-out
: >"$LEFT_OUT"

need_portable() {
  [ -n "${has_portable:-}" ] || packaging/portable.sh
  has_portable=yes
}

make_part() {
  case $1 in
    source)
      [ -z "$(git status --porcelain)" ] ||
        echo "dist: the source archive has the last commit, not what is changed here since" >&2
      packaging/source.sh
      ;;
    wheel)
      need_portable
      packaging/wheel.sh
      ;;
    container)
      need_portable
      packaging/container.sh
      ;;
    recipes)
      [ -e "$dist/interweave-$version-source.tar.gz" ] || packaging/source.sh
      packaging/recipes.sh
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
      echo "dist: '$1' is not one of source, wheel, npm, java, deb, container, recipes," \
        "licences" >&2
      exit 2
      ;;
  esac
}

# Of all files that are there, also those of an earlier call for other parts.
manifest() {
  local sum file
  echo "# InterWeave $version"
  echo
  echo "Made of commit $(git rev-parse HEAD) on $(. /etc/os-release && echo "$PRETTY_NAME")," \
    "$(uname -m)."
  [ -z "$some_alone" ] ||
    echo "That is true of the parts that were made last ($some_alone); others may be older."
  echo
  echo "| file | bytes | sha256 |"
  echo "|---|---|---|"
  while read -r sum file; do
    echo "| $file | $(stat -c %s "$file") | $sum |"
  done <"$BUILD/packaging/SHA256SUMS"
  [ -s "$LEFT_OUT" ] || return 0
  printf '\nLeft out here:\n\n'
  sed 's/^/- /' "$LEFT_OUT"
}

began=$SECONDS
phase "the programs and libraries"
make/build.sh install
echo "dist: built in $((SECONDS - began)) s"
for part in "${parts[@]}"; do
  began=$SECONDS
  phase "$part"
  make_part "$part"
  echo "dist: $part in $((SECONDS - began)) s"
done
cd "$dist"
rm -f SHA256SUMS MANIFEST.md
sha256sum -- * >"$BUILD/packaging/SHA256SUMS"
manifest >"$BUILD/packaging/MANIFEST.md"
mv "$BUILD/packaging/MANIFEST.md" "$BUILD/packaging/SHA256SUMS" .
sha256sum -- MANIFEST.md >>SHA256SUMS
sed 's/^/dist: left out: /' "$LEFT_OUT"
echo "dist: $(wc -l <SHA256SUMS) files in $dist, in $SECONDS s"
