#!/bin/sh
# stub_test.sh NM STUB SHARED-LIBRARY: the stub defines every function and type of the
# library, and no others.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
names() {
  sed -n 's/.* [TBRD] \(IW_[a-zA-Z_]*\)$/\1/p' | sort -u
}
"$1" --defined-only "$2" | names >"$work/stub"
"$1" -D --defined-only "$3" | names >"$work/library"
test "$(wc -l <"$work/stub")" -gt 40
diff "$work/library" "$work/stub"
