#!/usr/bin/env bash
# The archive for a container, as podman would build and run it: the commands of the container file
# in a minimal Debian, the program as the user of the file, a store that a second start reads.
#
#   packaging/tests/container.sh ARCHIVE
#
# Needs root. Says so where it is not root, and ends with 77.
set -euo pipefail
root=$(realpath "$(dirname "$0")/../..")
set -- "$(realpath "$1")"
cd "$root"
. packaging/tests/minimal_system.sh
server=
fail() {
  [ -z "$server" ] || kill "$server" || true
  echo "FAILED: $*" >&2
  cat "$system"/tmp/*.log >&2 2>/dev/null || true
  exit 1
}
mkdir "$system/context"
tar -xzf "$1" -C "$system/context" --strip-components=1
file=$system/context/Containerfile
of_file() { sed -n "s/^$1 //p" "$file"; }
for needed in LICENSE LICENSES-third-party.txt; do
  [ -s "$system/context/$needed" ] || fail "the archive lacks $needed"
done
read -r from to <<<"$(of_file COPY)"
within cp "/context/$from" "$to"
while read -r command; do within sh -c "$command" || fail "RUN $command"; done <<<"$(of_file RUN)"
user=$(of_file USER)
state=$(of_file VOLUME)
as_user() {
  within setpriv --reuid "${user%:*}" --regid "${user#*:}" --clear-groups --no-new-privs \
    --bounding-set=-all --inh-caps=-all "$@"
}
entry=$(of_file ENTRYPOINT | tr -d '[]",')
token=$(as_user "$entry" serve --init "$state" --host localhost |
  sed -n 's/^ *export IW_TOKEN=//p')
[ -n "$token" ] || fail "serve --init printed no token"

# serve COMMAND...: runs the command while the server runs, as the container starts it.
serve() {
  local word=
  rm -f "$system/tmp/ready"
  mkfifo "$system/tmp/ready"
  # shellcheck disable=SC2046
  chroot "$system" /usr/bin/env -i PATH=/usr/bin:/bin \
    setpriv --reuid "${user%:*}" --regid "${user#*:}" --clear-groups --no-new-privs \
    --bounding-set=-all --inh-caps=-all "$entry" $(of_file CMD | tr -d '[]",') \
    --listen 127.0.0.1:0 --http none >"$system/tmp/ready" 2>"$system/tmp/server.log" &
  server=$!
  exec 3<"$system/tmp/ready"
  until [ "$word" = listening ]; do
    read -r word address <&3 || fail "the server ended"
  done
  "$@" || fail "$*"
  kill -TERM "$server"
  wait "$server" || fail "the server did not stop cleanly"
  server=
}
client() { within env IW_CA="$state/ca.pem" IW_TOKEN="$token" "$entry" "$@"; }
url() { echo "iws://localhost:${address##*:}/$1"; }
write() { client set "$(url 'synced#every#e')" 4711 >"$system/tmp/set.log" 2>&1; }
look() {
  client get "$(url 'synced#every#e')" >"$system/tmp/get.log" 2>&1 &&
    grep -qx 4711 "$system/tmp/get.log"
}
# A store that has a segment, because the program alone cannot make one.
cp -r packaging/samples/0.1.0/store "$system/sample"
chmod -R go+rX "$system/sample"
as_user "$entry" restore /sample "$state/store" >"$system/tmp/restore.log" 2>&1 ||
  fail "the container's user cannot restore a store"
serve write
serve look
echo "container: the commands of the container file make a server that keeps its segments"
