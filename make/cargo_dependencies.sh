#!/usr/bin/env bash
# Keeps the compiled dependencies of the Rust programs for other clones on this machine, in
# $IW_CACHE: the crates that Cargo.lock names, never the repository's own, whose sources differ from
# clone to clone.
#
#   make/cargo_dependencies.sh restore    into a target folder that has none yet
#   make/cargo_dependencies.sh save       from target/release, unless they are kept already
#
# They are kept by compiler, flags and Cargo.lock. Cargo decides by itself whether it can use them.
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
[ "$IW_CACHE" != none ] || exit 0
key=$( { rustc -vV; echo "$RUSTFLAGS"; cat Cargo.lock Cargo.toml; } | sha256sum | cut -c 1-16)
kept=$IW_CACHE/cargo-$key
target=${CARGO_TARGET_DIR:-target}/release

restore() {
  [ ! -d "$target/.fingerprint" ] && [ -d "$kept" ] || return 0
  mkdir -p "$target"
  cp -a "$kept/." "$target/"
  touch "$kept"
}

# target/release names each unit's files by crate and hash: .fingerprint/CRATE-HASH,
# build/CRATE-HASH, deps/libCRATE-HASH.rlib. The count says whether more has been compiled since, by
# a test or a lint.
save() {
  local folder=$target/.fingerprint units
  [ -d "$folder" ] || return 0
  units=$(find "$folder" -mindepth 1 -maxdepth 1 ! -name 'interweave*' | wc -l)
  [ "$(cat "$kept/units" 2>/dev/null || echo 0)" -lt "$units" ] || return 0
  local half_done
  half_done=$(mktemp -d "$IW_CACHE/saving.XXXXXX")
  # shellcheck disable=SC2064
  trap "rm -rf '$half_done'" EXIT
  mkdir "$half_done"/{.fingerprint,build,deps}
  local unit
  for unit in "$folder"/*; do
    unit=${unit##*/}
    [[ $unit != interweave* ]] || continue
    cp -a "$folder/$unit" "$half_done/.fingerprint/"
    [ ! -d "$target/build/$unit" ] || cp -a "$target/build/$unit" "$half_done/build/"
    find "$target/deps" -maxdepth 1 -name "*-${unit##*-}.*" -exec cp -a -t "$half_done/deps" {} +
  done
  echo "$units" >"$half_done/units"
  rm -rf "$kept"
  mv "$half_done" "$kept"
  # The last few sets of dependencies are enough.
  find "$IW_CACHE" -maxdepth 1 -name 'cargo-*' -printf '%T@ %p\n' | sort -rn | tail -n +4 |
    cut -d ' ' -f 2- | xargs -r rm -rf
}

mkdir -p "$IW_CACHE"
# By one at a time: builds of other clones, and of other stages, keep theirs here, too.
case "${1:-}" in
  restore | save) (flock 9; "$1") 9>"$IW_CACHE/lock" ;;
  *) echo "cargo_dependencies: restore or save?" >&2; exit 2 ;;
esac
