#!/bin/sh
# The program of docs/ddss.md, alone and through a daemon. Usage: guide_test.sh PROGRAM DAEMON
set -eu
folder=$(mktemp -d)
mkfifo "$folder/said"
"$2" --socket "$folder/socket" >"$folder/said" &
daemon=$!
trap 'kill $daemon 2>/dev/null; rm -rf "$folder"' EXIT
exec 3<"$folder/said"
read -r said <&3
[ "$said" = "listening $folder/socket" ] || { echo "the daemon said: $said"; exit 1; }
alone=$("$1")
[ "$alone" = "visit 1 on node 0 of 1" ] || { echo "alone: $alone"; exit 1; }
for visit in 1 2 3; do
  through=$(IW_DDSS_DAEMON="$folder/socket" "$1")
  [ "$through" = "visit $visit on node 0 of 1" ] || { echo "through the daemon: $through"; exit 1; }
done
