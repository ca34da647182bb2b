#!/usr/bin/env bash
# Runs the commands of the installed service and of the container file as their managers would: as a
# user without privileges, with a root that is read-only, in a network of its own.
#
#   make/test_service.sh PREFIX
#
# Needs root, for the namespaces. Says so, and tests nothing, where it is not root.
set -euo pipefail
cd "$(dirname "$0")/.."
prefix=$(realpath "$1")
if [ "$(id -u)" != 0 ]; then
  echo "service: skipped, because namespaces need root"
  exit 0
fi
if [ -z "${IW_IN_NAMESPACE:-}" ]; then
  IW_IN_NAMESPACE=yes exec unshare --mount --net --propagation private "$PWD/make/test_service.sh" \
    "$prefix"
fi

unit=$prefix/lib/systemd/system/interweave.service
state=/var/lib/interweave
fail() {
  echo "FAILED: $*" >&2
  cat /run/server.log >&2 || true
  exit 1
}
of_unit() { sed -n "s/^$1=//p" "$unit"; }
unprivileged=(setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs
  --bounding-set=-all --inh-caps=-all)

# The program alone is needed; what the system has read-only lies under the new mounts.
work=$(mktemp -d)
cp -r "$prefix/bin" "$prefix/lib/systemd" "$prefix/share/interweave" "$work/"
mount -t tmpfs none /mnt
cp -r "$work/." /mnt/
rm -rf "$work"
mount -t tmpfs none /var/lib
mount -t tmpfs none /run
mount -t tmpfs none /tmp
install -d -m 700 -o 65534 -g 65534 "$state" /run/interweave
mount -o remount,bind,ro /
ip link set lo up

program=/mnt/bin/interweave
unit=/mnt/systemd/system/interweave.service
steps=$("${unprivileged[@]}" "$program" serve --init "$state" --host localhost)
token=$(sed -n 's/^ *export IW_TOKEN=//p' <<<"$steps")
[ -n "$token" ] || fail "serve --init printed no token: $steps"
! grep -rq "$token" "$state" || fail "a file holds the token"
for secret in ca.key server.key tokens; do
  [ "$(stat -c %a "$state/$secret")" = 600 ] || fail "others may read $secret"
done
! "${unprivileged[@]}" "$program" serve --init "$state" 2>/run/again ||
  fail "serve --init replaced files"

# serve_and_ask COMMAND...: the server answers who shows the token, and nobody else.
serve_and_ask() {
  rm -f /run/ready
  mkfifo /run/ready
  "${unprivileged[@]}" env XDG_RUNTIME_DIR=/run/interweave "$@" >/run/ready 2>/run/server.log &
  server=$!
  exec 3</run/ready
  word=
  until [ "$word" = listening ]; do
    read -r word _ <&3 || fail "the server ended"
  done
  export IW_CA=$state/ca.pem
  IW_TOKEN=$token "$program" ls iws://localhost >/run/list 2>&1 || fail "the token does not let in"
  ! "$program" ls iws://localhost 2>/run/refused || fail "a client without a token was let in"
  grep -q IW_TOKEN /run/refused || fail "the refusal does not say what to set: $(cat /run/refused)"
  ! IW_TOKEN=$token "$program" ls iw://localhost 2>/dev/null || fail "it serves without TLS"
  MAINPID=$server bash -c "$(of_unit ExecReload)"
  IW_TOKEN=$token "$program" ls iws://localhost >/run/list 2>&1 ||
    fail "the reload ended the service"
  kill -TERM "$server"
  wait "$server" || fail "the server did not stop cleanly"
  ! grep -q "$token" /run/server.log || fail "the log holds the token"
}

read -ra start <<<"$(of_unit ExecStart)"
serve_and_ask "$program" "${start[@]:1}"

# The container file's command, whose entry is the program.
command=$(sed -n 's/^CMD \[\(.*\)\]$/\1/p' /mnt/interweave/Containerfile)
read -ra arguments <<<"$(tr -d '",' <<<"$command")"
serve_and_ask "$program" "${arguments[@]}"
echo "service: the commands of the service and of the container work"
