#!/usr/bin/env bash
# The packages for Debian in a system of their own (a minimal Debian, made by mmdebstrap): install,
# start, upgrade, remove and purge. The store is still there after each of them, and a program is
# compiled against the development package.
#
#   packaging/tests/deb.sh DEBS NEWER     folders of packages; those of NEWER have a later version
#
# Needs root. Says so where it is not root, and ends with 77.
set -euo pipefail
cd "$(dirname "$0")/../.."
debs=$(realpath "$1")
newer=$(realpath "$2")
. packaging/tests/minimal_system.sh
server=
fail() {
  [ -z "$server" ] || kill "$server" || true
  echo "FAILED: $*" >&2
  cat "$system"/tmp/*.log >&2 2>/dev/null || true
  exit 1
}
mkdir "$system/debs" "$system/newer"
cp "$debs"/*.deb "$system/debs/"
cp "$newer"/*.deb "$system/newer/"
state=/var/lib/interweave

# install FOLDER: all that needs nothing of a cluster.
install_from() {
  within sh -c "dpkg -i $1/interweave_*.deb $1/libinterweave0_*.deb $1/libinterweave-dev_*.deb" \
    >"$system/tmp/dpkg.log" 2>&1 || fail "dpkg does not install $1"
}
# serve COMMAND...: runs the command while the service runs, as its unit would start it.
serve() {
  local program
  program=$(sed -n 's/^ExecStart=//p' "$system/usr/lib/systemd/system/interweave.service" \
    "$system/lib/systemd/system/interweave.service" 2>/dev/null | head -1)
  [[ $program = /usr/bin/interweave\ * ]] || fail "the unit starts '$program'"
  rm -f "$system/tmp/ready"
  mkfifo "$system/tmp/ready"
  # shellcheck disable=SC2086
  chroot "$system" /usr/bin/env -i PATH=/usr/bin:/bin XDG_RUNTIME_DIR=/tmp \
    setpriv --reuid interweave --regid interweave --clear-groups $program \
    --listen 127.0.0.1:0 --http none \
    >"$system/tmp/ready" 2>"$system/tmp/server.log" &
  server=$!
  local word=
  exec 3<"$system/tmp/ready"
  until [ "$word" = listening ]; do
    read -r word address <&3 || fail "the server ended"
  done
  "$@"
  kill -TERM "$server"
  wait "$server" || fail "the server did not stop cleanly"
  server=
}
client() { within env IW_CA=$state/ca.pem IW_TOKEN="$token" "$@"; }
write_list() { client /tmp/point "iws://localhost:${address##*:}/points" || fail "cannot write"; }
read_list() {
  client interweave get "iws://localhost:${address##*:}/points#origin" \
    >"$system/tmp/get.log" 2>&1 || fail "the block is not there $1"
  grep -q 4.5 "$system/tmp/get.log" || fail "the block has another value $1"
}

install_from /debs
within sh -c "grep -q '^interweave:' /etc/passwd" || fail "the user was not made"
[ "$(within stat -c '%a %U' $state)" = "700 interweave" ] || fail "the state's folder is open"
[ "$(within interweave --version)" = "interweave 0.1.0" ] || fail "the program does not run"
within man interweave-serve >"$system/tmp/man.log" 2>&1 || fail "no manual page"
token=$(within setpriv --reuid interweave --regid interweave --clear-groups \
  interweave serve --init $state --host localhost | sed -n 's/^ *export IW_TOKEN=//p')
[ -n "$token" ] || fail "serve --init printed no token"

cat >"$system/tmp/point.x" <<'END'
struct point { double x; double y; };
END
cat >"$system/tmp/point_main.c" <<'END'
#include <interweave.h>
#include <stdio.h>
#include "point.h"
int main(int argc, char **argv) {
    IW_handle_t h = argc > 1 ? IW_open_segment(argv[1]) : NULL;
    struct point *p;
    if (h == NULL || IW_wl_acquire(h) != 0) { fprintf(stderr, "%s\n", IW_strerror()); return 1; }
    p = IW_find_or_malloc(h, IW_point, "origin");
    if (p == NULL) { fprintf(stderr, "%s\n", IW_strerror()); return 1; }
    p->x = 4.5;
    if (IW_wl_release(h) != 0) { fprintf(stderr, "%s\n", IW_strerror()); return 1; }
    return IW_close_segment(h) == 0 ? 0 : 1;
}
END
within sh -c 'cd /tmp && interweave compile point.x --lang c && gcc -std=c99 point_main.c point.c \
  $(pkg-config --cflags --libs interweave) -o point' >"$system/tmp/cc.log" 2>&1 ||
  fail "the development package does not compile a program"
within ldd /tmp/point | grep 'libinterweave.so.0 => /' >/dev/null ||
  fail "the shared library is not used"
serve write_list
serve read_list "after a restart"

install_from /newer
[ "$(within dpkg-query -W -f '${Version}' interweave)" = 0.1.0+newer ] || fail "it is not upgraded"
serve read_list "after an upgrade"
within dpkg --remove interweave libinterweave-dev libinterweave0 >"$system/tmp/dpkg.log" 2>&1 ||
  fail "dpkg does not remove them"
[ ! -e "$system/usr/bin/interweave" ] || fail "the program is left after a removal"
[ -d "$system$state/store" ] || fail "a removal takes the store along"
within dpkg --purge interweave libinterweave-dev libinterweave0 >"$system/tmp/dpkg.log" 2>&1 ||
  fail "dpkg does not purge them"
[ -d "$system$state/store" ] || fail "a purge takes the store along"
[ "$(within stat -c %U $state/store)" = interweave ] || fail "a purge takes the store's owner along"
left=$(find "$system/usr" "$system/etc" "$system/lib/" -name '*interweave*' ! -path '*/debs/*')
[ -z "$left" ] || fail "a purge leaves $left"
install_from /newer
serve read_list "after a purge and a new installation"
echo "deb: install, upgrade, remove and purge keep the store"
