#!/bin/sh
# Runs a program with a name server, and compares what it prints.
# Usage: guide_test.sh PROGRAM NAME_SERVER TEXT
set -eu
folder=$(mktemp -d)
mkfifo "$folder/said"
"$2" --file "$folder/amns" >"$folder/said" &
server=$!
trap 'kill $server 2>/dev/null; rm -rf "$folder"' EXIT
exec 3<"$folder/said"
read -r said <&3
case $said in "listening "*) ;; *) echo "the name server said: $said"; exit 1 ;; esac
printed=$(IW_AMNS="file:$folder/amns" "$1")
[ "$printed" = "$3" ] || { echo "printed: $printed"; exit 1; }
