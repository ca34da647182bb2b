#!/bin/sh
# Fortran and C++ share segments of a real server:
#   exchange_test.sh INTERWEAVE FORTRAN-EXCHANGE CPP-EXCHANGE FORTRAN-CALLS
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
echo "Fortran and C++ see the same"
