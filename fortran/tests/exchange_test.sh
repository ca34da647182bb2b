#!/bin/sh
# Fortran and C++ share segments of a real server:
#   exchange_test.sh INTERWEAVE FORTRAN-EXCHANGE CPP-EXCHANGE FORTRAN-CALLS FORTRAN-CHANGES
set -eu
work=$(mktemp -d)
server=
trap 'test -z "$server" || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
mkfifo "$work/ready"
"$1" serve --listen 127.0.0.1:0 --http 127.0.0.1:0 --store memory >"$work/ready" 2>"$work/server.log" &
server=$!
exec 3<"$work/ready"
address=
while read -r word rest <&3; do
  if [ "$word" = listening ]; then address=$rest; break; fi
done
test -n "$address" || { cat "$work/server.log" >&2; exit 1; }

"$2" write "$address/fortran"
"$2" check "$address/fortran"
"$3" check "$address/fortran"
"$3" write "$address/cpp"
"$3" check "$address/cpp"
"$2" check "$address/cpp"
"$4" "$address"

# hears_of VERSION: the next line of the process that hears of changes.
hears_of() {
  read -r line <&5
  test "$line" = "$1" || { echo "'$line', not '$1'" >&2; exit 1; }
}
mkfifo "$work/said" "$work/told"
"$5" hear "$address" <"$work/told" >"$work/said" &
hearer=$!
exec 4>"$work/told" 5<"$work/said"
hears_of "hearing from 0"
"$5" tell "$address"
hears_of "heard of 1"
echo >&4
hears_of "hearing from 1"
"$5" tell "$address"
hears_of "heard of 2"
wait "$hearer"
echo "Fortran and C++ see the same"
