#!/usr/bin/env bash
# The source archive: the same bytes from another clone at another time, and all that a build needs.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "FAILED: $*" >&2
  exit 1
}
git clone --quiet --no-hardlinks . "$work/clone"
first=$(BUILD=$work/first packaging/source.sh)
second=$(cd "$work/clone" && umask 077 && TZ=Asia/Tokyo BUILD=$work/second packaging/source.sh)
cmp "$first" "$second" || fail "another clone makes another archive"
tar -tzf "$first" >"$work/names"
git ls-files | sed "s|^|$(head -1 "$work/names")|" | sort >"$work/wanted"
grep -v '/$' "$work/names" | sort >"$work/found"
diff "$work/wanted" "$work/found" || fail "the archive has other files than the tree"
echo "source: the archive has the same bytes from another clone"
