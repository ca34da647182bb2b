#!/usr/bin/env bash
# The stores of earlier releases (packaging/samples) are read by this build, whole and without
# damage, and are written to.
#
#   packaging/tests/samples.sh PROGRAM
set -euo pipefail
program=$(realpath "$1")
cd "$(dirname "$0")/../.."
root=$PWD
. make/real_server.sh
tried=0

# serve STORE: gives $server and $address.
serve() {
  local word=
  mkfifo "$work/ready"
  "$program" serve --listen 127.0.0.1:0 --http none --store "$1" >"$work/ready" \
    2>"$work/server.log" &
  server=$!
  exec 3<"$work/ready"
  until [ "$word" = listening ]; do
    read -r word address <&3 || fail "the server ended"
  done
  rm "$work/ready"
}
for sample in "$root"/packaging/samples/*/; do
  release=$(basename "$sample")
  "$program" restore "$sample/store" "$work/$release" >"$work/restore.log" 2>&1 ||
    fail "the store of $release is not restored"
  ! grep -qi damage "$work/restore.log" || fail "the store of $release is damaged"
  serve "$work/$release"
  while read -r block value; do
    said=$("$program" get "$address/$block" | tr -s ' \n' ' ' | sed "s|$address|SERVER|g; s/ $//")
    [ "$said" = "$value" ] || fail "$release: $block is $said, and was $value"
    tried=$((tried + 1))
  done <"$sample/values.txt"
  "$program" set "$address/synced#every#e" 4 >"$work/set.log" 2>&1 ||
    fail "the store of $release is not written to"
  kill -TERM "$server"
  wait "$server" || fail "the server did not stop cleanly"
  server=
done
[ "$tried" -gt 0 ] || fail "no sample"
# A changed byte is noticed, so the test reads what it says it reads.
cp -r "$root/packaging/samples/0.1.0/store" "$work/bad"
chmod -R u+w "$work/bad"
log=$(ls "$work"/bad/log-* | tail -1)
printf '\252' | dd of="$log" bs=1 seek=1000 conv=notrunc status=none
! "$program" restore "$work/bad" "$work/from-bad" >"$work/bad.log" 2>&1 ||
  grep -qi damage "$work/bad.log" || fail "a damaged sample is not noticed"
echo "samples: $tried values of earlier releases are read"
