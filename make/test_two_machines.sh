#!/usr/bin/env bash
# Two machines share a list, encrypted, as the README has it. Each machine is a network of its own;
# a cable is between them.
#
#   make/test_two_machines.sh PREFIX LIST          LIST: the program of the paper's Figure 1
#
# Needs root, for the networks. Says so, and tests nothing, where it is not root.
set -euo pipefail
prefix=$(realpath "$1")
program=$prefix/bin/interweave
list=$(realpath "$2")
if ! unshare --mount --net true 2>/dev/null; then
  echo "two machines: skipped, because networks of their own need root"
  exit 0
fi
if [ -z "${IW_IN_NAMESPACE:-}" ]; then
  IW_IN_NAMESPACE=yes exec unshare --net "$(realpath "$0")" "$prefix" "$list"
fi

work=$(mktemp -d)
server=
other=
clean_up() {
  kill $server $other 2>/dev/null || true
  rm -rf "$work"
}
trap clean_up EXIT
fail() {
  echo "FAILED: $*" >&2
  cat "$work"/*.log >&2
  exit 1
}

# The other machine is there as long as this process.
mkfifo "$work/begun"
unshare --net sh -c 'echo >"$0"; exec sleep 600' "$work/begun" &
other=$!
read -r _ <"$work/begun"
on_other() { nsenter --net="/proc/$other/ns/net" "$@"; }
ip link add cable type veth peer name cable netns "$other"
ip addr add 10.77.0.1/24 dev cable
ip link set cable up
ip link set lo up
on_other ip addr add 10.77.0.2/24 dev cable
on_other ip link set cable up

steps=$("$program" serve --init "$work/lab" --host 10.77.0.1)
IW_TOKEN=$(sed -n 's/^ *export IW_TOKEN=//p' <<<"$steps")
export IW_TOKEN IW_CA="$work/lab/ca.pem"
mkfifo "$work/ready"
env -u IW_TOKEN "$program" serve --config "$work/lab/serve.conf" \
  >"$work/ready" 2>"$work/server.log" &
server=$!
exec 3<"$work/ready"
word=
until [ "$word" = listening ]; do
  read -r word _ <&3 || fail "the server ended"
done

url=iws://10.77.0.1/list
on_other "$list" --url "$url" insert 3 1 2 >"$work/insert.log" 2>&1 || fail "the other machine"
"$list" --url "$url" search 2 >"$work/search.log" 2>&1 || fail "this machine does not see the list"
"$list" --url "$url" insert 42 >"$work/again.log" 2>&1 || fail "this machine does not change it"
on_other "$list" --url "$url" search 42 >"$work/seen.log" 2>&1 || fail "the change is not seen"
on_other "$program" show "$url" >"$work/show.log" 2>&1 || fail "interweave show"

# refused TEXT COMMAND...: on the other machine.
refused() {
  ! on_other "${@:2}" >"$work/refused.log" 2>&1 || fail "was let in: ${*:2}"
  grep -q "$1" "$work/refused.log" || fail "the error does not say $1"
}
refused IW_TOKEN env -u IW_TOKEN "$list" --url "$url" search 2
refused iws:// "$list" --url iw://10.77.0.1/list search 2
refused IW_CA env -u IW_CA "$list" --url "$url" search 2
echo "two machines: they share a list, encrypted, and nobody else comes in"
