#!/bin/sh
# The program of docs/dsm.md, alone and as four ranks. Usage: guide_test.sh PROGRAM
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
alone=$("$1")
[ "$alone" = 1000 ] || { echo "alone: $alone"; exit 1; }
export IW_RENDEZVOUS="file:$folder" IW_SIZE=4
for rank in 1 2 3; do IW_RANK=$rank "$1" >"$folder/said.$rank" & done
said=$(IW_RANK=0 "$1")
wait
[ "$said" = 1006 ] || { echo "as four ranks: $said"; exit 1; }
for rank in 1 2 3; do
  [ ! -s "$folder/said.$rank" ] || { echo "rank $rank printed something"; exit 1; }
done
