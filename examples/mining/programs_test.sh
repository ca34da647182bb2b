#!/bin/sh
# The miner's programs as their users run them, against a real server:
#   programs_test.sh INTERWEAVE MINING-BUILDER MINING-QUERY MINING-LATTICE-TEST
# Waits only for lines that programs print and for programs to end.
set -eu

interweave=$1
builder=$2
query=$3
lattice_test=$4
here=$(dirname "$0")
. "$here/../../make/real_server.sh"
data=$here/data/online_retail_seq.txt

readers_see_what_mining_from_scratch_finds_after_every_step() {
  MINING_TEST_SERVER="$address" "$lattice_test" --gtest_brief=1 >"$work/lattice.log" 2>&1 ||
    fail "the lattice"
}

# Begins a query that follows the lattice at $url; its process is $follower.
follow() {
  "$query" --url "$url" --coherence "$1" --follow --top 2 1 >"$work/$1.log" 2>&1 & follower=$!
  others="$others $follower"
}

queries_follow_a_lattice_that_grows() {
  url="$address/retail"
  follow full; full=$follower
  follow temporal:0.05; temporal=$follower
  follow delta:3; delta=$follower
  "$builder" --url "$url" --data "$data" --minimum 5 --steps 6 >"$work/builder.log" 2>&1 ||
    fail "the builder"
  grep -q '^step 6/6: ' "$work/builder.log" || fail "the builder's last step"
  "$query" --url "$url" --top 2 1 >"$work/now.log" || fail "a query"
  test "$(wc -l <"$work/now.log")" = 4 || fail "a version, a sequence and two answers"
  wait "$full" || fail "the query under full"
  wait "$temporal" || fail "the query under temporal"
  # Under delta the last versions need never be fetched: this reader is told to end.
  kill -INT "$delta"
  wait "$delta" || fail "the query under delta did not end cleanly"
  others=
  for coherence in full temporal:0.05; do
    tail -n 4 "$work/$coherence.log" | cmp -s - "$work/now.log" ||
      fail "the last answer under $coherence"
  done
}

sequences_are_named_as_customers_bought_them() {
  "$query" --url "$url" --top 1 >"$work/all.log" || fail "a query without purchases"
  first=$(sed -n '2s/.*%  //p' "$work/all.log")
  "$query" --url "$url" --items "$here/data/online_retail_items.txt" --top 1 >"$work/codes.log" ||
    fail "codes"
  code=$(sed -n '2s/.*%  //p' "$work/codes.log")
  grep -qx "$first $code" "$here/data/online_retail_items.txt" ||
    fail "'$code' is not the code of '$first'"
  "$query" --url "$url" 1 2 3 4 5 >"$work/rare.log" || fail "a rare sequence"
  grep -q '^fewer than ' "$work/rare.log" || fail "a rare sequence is not said to be one"
  if "$query" --url "$url" 6, x >"$work/refused.log" 2>&1; then
    fail "a word that is not an item"
  fi
  if "$query" --url "$address/empty" 6 >"$work/refused.log" 2>&1; then
    fail "a segment without a lattice"
  fi
  if "$interweave" ls "$address" | grep -q empty; then fail "a query has made a segment"; fi
}

ctrl_c_ends_the_builder_and_leaves_a_whole_lattice() {
  url="$address/stopped"
  mkfifo "$work/steps"
  "$builder" --url "$url" --quest --customers 2000 --pause 3600 >"$work/steps" \
    2>"$work/stopped.log" & stopped=$!
  others=$stopped
  exec 4<"$work/steps"
  while read -r word rest <&4; do if [ "$word" = step ]; then break; fi; done
  kill -INT "$stopped"
  wait "$stopped" || fail "the builder did not end cleanly"
  exec 4<&-
  others=
  "$query" --url "$url" --follow >"$work/whole.log" || fail "a reader of what the builder left"
}

a_builder_replaces_a_lattice_and_nothing_else() {
  "$builder" --url "$url" --quest --customers 1000 --steps 0 --quiet || fail "a second builder"
  "$query" --url "$url" | grep -q ': [45][0-9][0-9] customers' ||
    fail "the lattice was not replaced"
  "$interweave" get "$url#lattice#finished" >"$work/finished.log" || fail "get"
  if "$builder" --url "$address/retail" --data "$here/data/SOURCES.md" \
    >"$work/refused.log" 2>&1; then
    fail "a file of something else"
  fi
  "$query" --url "$address/retail" --top 2 1 | cmp -s - "$work/now.log" ||
    fail "what was there is gone"
}

a_builder_whose_lattice_is_replaced_leaves_the_other_ones_alone() {
  url="$address/both"
  mkfifo "$work/first"
  "$builder" --url "$url" --quest --customers 1000 --pause 3600 >"$work/first" \
    2>"$work/first.log" & first=$!
  others=$first
  exec 4<"$work/first"
  while read -r word rest <&4; do if [ "$word" = step ]; then break; fi; done
  "$builder" --url "$url" --quest --customers 2000 --steps 0 --quiet || fail "a second builder"
  "$query" --url "$url" >"$work/second.log" || fail "a query"
  kill -INT "$first"  # it would publish a last time
  if wait "$first"; then fail "a builder without a lattice is content"; fi
  exec 4<&-
  others=
  grep -q "another builder has replaced the lattice" "$work/first.log" ||
    fail "the reason is not given"
  "$query" --url "$url" | cmp -s - "$work/second.log" ||
    fail "the second builder's lattice has changed"
}

start_server "$interweave"
readers_see_what_mining_from_scratch_finds_after_every_step
queries_follow_a_lattice_that_grows
sequences_are_named_as_customers_bought_them
ctrl_c_ends_the_builder_and_leaves_a_whole_lattice
a_builder_replaces_a_lattice_and_nothing_else
a_builder_whose_lattice_is_replaced_leaves_the_other_ones_alone
echo "all well"
