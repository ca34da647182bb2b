#!/usr/bin/env bash
# The demo of fail-over as its users run it. Waits only for lines that it prints.
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
# The lines below are waited for; a build may take longer.
cargo build --release --locked --quiet "${cargo_members[@]}" --bin interweave-demo-failover
work=$(mktemp -d)
demo=
clean_up() {
  [ -z "$demo" ] || kill "$demo" 2>/dev/null || true
  rm -rf "$work"
}
trap clean_up EXIT
mkfifo "$work/keys" "$work/lines"
make/demo_failover.sh <"$work/keys" >"$work/lines" 2>"$work/errors" &
demo=$!
exec 4>"$work/keys" 3<"$work/lines"

# wait_for TEXT...: until there was a line with each of them, in any order; for a minute at most.
wait_for() {
  local since left=("$@")
  since=$(wc -l <"$work/said")
  while [ ${#left[@]} -gt 0 ]; do
    if ! read -r -t 60 line <&3; then
      echo "demo-failover: it did not say '${left[*]}'; it said:" >&2
      cat "$work/said" "$work/errors" >&2
      exit 1
    fi
    echo "$line" >>"$work/said"
    left=()
    for text in "$@"; do
      grep -qF -e "$text" <<<"$(tail -n "+$((since + 1))" "$work/said")" || left+=("$text")
    done
  done
}

: >"$work/said"
wait_for "versions come from "
printf 1 >&4
wait_for "server 1 is killed" "versions continue after " "server 1 runs again"
printf p >&4
wait_for "a new standby run" "versions continue after "
printf q >&4
cat <&3 >>"$work/said"
wait "$demo" || { cat "$work/errors" >&2; exit 1; }
demo=
[ ! -s "$work/errors" ] || { cat "$work/errors" >&2; exit 1; }
echo "all well"
