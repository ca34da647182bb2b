#!/bin/sh
# The cluster's two programs as their users run them: programs_test.sh NAME_SERVER DAEMON
# Waits only for lines that programs print and for programs to end.
set -eu
name_server=$1
daemon=$2
. "$(dirname "$0")/../make/real_server.sh"
export IW_FABRIC=shm
unset IW_AMNS IW_DDSS

# begin PROGRAM [ARGUMENT]...: starts it, as $begun, and waits for its line "listening ...".
begin() {
  rm -f "$work/said"
  mkfifo "$work/said"
  "$@" >"$work/said" 2>"$work/begun.log" & begun=$!
  others="$others $begun"
  exec 3<"$work/said"
  read -r said <&3 || fail "$1 said nothing"
  case $said in "listening "*) ;; *) fail "$1 said $said" ;; esac
}

ended() {
  kill -TERM "$begun"
  wait "$begun" || fail "SIGTERM ended it with status $?"
}

for program in "$name_server" "$daemon"; do
  "$program" --help >"$work/help.log" || fail "$program --help"
  grep -q '^Example:' "$work/help.log" || fail "$program --help has no example"
  refused 2 'try --help' "$program" --nonsense
done
refused 2 'try --help' "$name_server" --file
refused 2 'try --help' "$name_server" --file ''
refused 2 '--socket FILE is needed' "$daemon"
refused 2 '--socket needs a value' "$daemon" --socket
for bytes in 10x -5 0 x 99999999999999999999; do
  refused 2 "--pool: '$bytes'" "$daemon" --socket "$work/daemon" --pool $bytes
done

# A name server's file stays its own.
begin "$name_server" --file "$work/names"
test ! -s "$work/begun.log" ||
  fail "it complains of a file that it is to write: $(cat "$work/begun.log")"
first=$begun
refused 1 'names a server that is there' "$name_server" --file "$work/names"
kill -9 "$first"
wait "$first" || true
test -s "$work/names" || fail "no file is left to be replaced"
begin "$name_server" --file "$work/names"
test "listening $(cat "$work/names")" = "$said" || fail "the dead server's name is still there"
echo another >"$work/names"
ended
test -s "$work/names" || fail "it took another's name along"
refused 1 "has no server's name" "$name_server" --file "$work/names"
test "$(cat "$work/names")" = another || fail "it wrote over what is another's"
rm "$work/names"
begin "$name_server" --file "$work/names"
ended
test ! -e "$work/names" || fail "its name is still there"
echo "all well"
