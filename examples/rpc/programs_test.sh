#!/bin/sh
# Calls by reference and by copy through Sun RPC, with a real server and a real callee:
#   programs_test.sh INTERWEAVE DIR-OF-RPC-PROGRAMS
# Waits only for lines that programs print and for programs to end.
set -eu

interweave=$1
programs=$2
. "$(dirname "$0")/../../make/real_server.sh"

caller() {
  "$programs/rpc-caller" --callee "$callee" "$@"
}

start_callee() {
  mkfifo "$work/callee"
  "$programs/rpc-callee" --port 0 >"$work/callee" 2>"$work/callee.log" &
  callee_process=$!
  others="$others $callee_process"
  exec 4<"$work/callee"
  read -r word callee <&4 || fail "the callee did not start"
  test "$word" = listening || fail "the callee does not say where it listens"
}

the_callee_changes_the_callers_parts_in_place() {
  url="$address/in-place"
  caller --url "$url" plant 6 >"$work/plant.log" || fail "plant"
  test "$(caller --url "$url" restock 11 20)" = "6 parts visited, 6 ordered for 540.00" ||
    fail "restock"
  caller --url "$url" show >"$work/in-place.txt"
  test "$(awk '$2 == 20' "$work/in-place.txt" | wc -l)" = 6 ||
    fail "the caller does not see the order"
  # A MIP of any part is a tree.
  test "$(caller --url "$url" restock 21 30 --root "$url#2")" = \
    "3 parts visited, 3 ordered for 157.50" ||
    fail "restock of a subtree"
}

the_callee_links_a_part_into_the_callers_tree() {
  url="$address/linked"
  caller --url "$url" plant 5 >"$work/plant.log" || fail "plant"
  caller --url "$url" introduce 42 9.5 sprocket >"$work/introduce.log" || fail "introduce"
  test "$(caller --url "$url" show | sed -n 5p)" = "42 0 9.50 sprocket" ||
    fail "the part is not in its place"
  refused 1 "42 is there already" caller --url "$url" introduce 42 1 again
}

a_call_by_copy_ends_with_the_same_parts() {
  for way in "" --copy; do
    caller --url "$address/way$way" plant 300 >"$work/plant.log" || fail "plant"
    # shellcheck disable=SC2086
    caller --url "$address/way$way" restock 11 25 $way >"$work/answer$way.log" ||
      fail "restock $way"
    caller --url "$address/way$way" show >"$work/parts$way.txt"
  done
  cmp "$work/answer.log" "$work/answer--copy.log" || fail "the answers differ"
  cmp "$work/parts.txt" "$work/parts--copy.txt" || fail "the parts differ"
}

# From the second call on what travels by reference is what changed.
repeated_calls_move_the_difference_only() {
  caller --url "$address/repeated" plant 2000 >"$work/plant.log" || fail "plant"
  caller --url "$address/repeated" compare 3 >"$work/compare.log" || fail "compare"
  awk '$1 == 3 { exit !($2 * 20 < $4) } END { if (NR != 5) exit 1 }' "$work/compare.log" ||
    fail "by reference takes more than a twentieth of the bytes"
}

what_cannot_be_done_is_said_and_changes_nothing() {
  url="$address/refused"
  caller --url "$url" plant 6 >"$work/plant.log" || fail "plant"
  refused 1 NO_SEGMENT caller --url "$url" restock 11 20 --root "$address/nothing#1"
  refused 1 NO_BLOCK caller --url "$url" restock 11 20 --root "$url#999"
  refused 1 "leads to no part" caller --url "$url" restock 11 20 --root "$url#1#2"
  refused 1 BAD_URL caller --url "$url" restock 11 20 --root "garbage"
  # A circle is noticed when some parts have been changed: that is undone.
  "$interweave" set "$url#2#lower" "$url#1" >"$work/set.log" 2>&1 || fail "set"
  refused 1 "not a tree" caller --url "$url" restock 11 20
  refused 1 "not a tree" caller --url "$url" restock 11 20 --copy
  refused 1 "not a tree" caller --url "$url" show
  "$interweave" set "$url#2#lower" null >"$work/set.log" 2>&1 || fail "set"
  caller --url "$url" show >"$work/after.txt"
  awk '$2 != 10 { exit 1 }' "$work/after.txt" || fail "a refused call has changed parts"
}

a_callee_ends_when_asked_to() {
  kill -INT "$callee_process"
  wait "$callee_process" || fail "the callee did not end well"
  refused 1 "is rpc-callee running" caller --url "$address/linked" restock 1 2
}

start_server "$interweave"
start_callee
the_callee_changes_the_callers_parts_in_place
the_callee_links_a_part_into_the_callers_tree
a_call_by_copy_ends_with_the_same_parts
repeated_calls_move_the_difference_only
what_cannot_be_done_is_said_and_changes_nothing
a_callee_ends_when_asked_to
echo "all well"
