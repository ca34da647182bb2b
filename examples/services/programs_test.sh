#!/bin/sh
# The services as their users run them: programs_test.sh DIR-OF-THE-PROGRAMS
# Waits only for lines that programs print and for programs to end.
set -eu
programs=$1
. "$(dirname "$0")/../../make/real_server.sh"
PATH=$programs:$PATH
export IW_FABRIC=shm

# begin FIRST PROGRAM [ARGUMENT]...: starts it, as $begun, and waits for a line that begins with
# FIRST; the rest of that is $said. The rest of its output is at descriptor 3.
begin() {
  first=$1
  shift
  rm -f "$work/said"
  mkfifo "$work/said"
  "$programs/$@" >"$work/said" 2>"$work/begun.log" & begun=$!
  others="$others $begun"
  exec 3<"$work/said"
  await "$first"
}

await() {
  said=
  while read -r line <&3; do
    case $line in "$1"*) said=${line#"$1"}; return ;; esac
  done
  fail "no line began with '$1'"
}

# interrupted STATUS: Ctrl-C ends the last one that was begun so.
interrupted() {
  kill -INT "$begun"
  status=0
  wait "$begun" || status=$?
  test "$status" = "$1" || fail "Ctrl-C ended it with status $status"
}

every_program_has_help_and_says_what_is_wrong() {
  for program in active-cache checkpointed-run select-records two-sites; do
    "$programs/$program" --help | grep -q '^Examples:' || fail "$program --help"
    refused 2 'try --help' $program --nonsense
    refused 2 'try --help' $program nonsense
  done
  for command in 'active-cache back-end' 'active-cache front-end' 'active-cache check page' \
    'active-cache set a b' 'two-sites manager' 'two-sites server A' 'two-sites load A 1' \
    'two-sites show' 'select-records data' 'select-records select'; do
    refused 2 "'more' is not expected there" $command more
  done
  refused 2 'which command' two-sites
  refused 2 "--busy-threads: 'x'" active-cache back-end --busy-threads x
  refused 1 '--join ADDRESS' active-cache set a b
  refused 1 'copy the address' two-sites show --join 12
  refused 2 'value<0.25' select-records select --where value
  refused 2 'from 1 to 64' checkpointed-run --processes 65
}

pages_are_new_then_kept_until_data_changes() {
  begin 'address ' active-cache back-end --busy-threads 1
  export IW_DDSS="$said"
  "$programs/active-cache" set news one >"$work/set.log" || fail "set"
  printf 'news\nnews\nnothing\n' | "$programs/active-cache" front-end >"$work/pages.log" ||
    fail "front-end"
  printf 'news: one\n(new)\nnews: one\n(kept)\n' >"$work/expected"
  head -n 4 "$work/pages.log" | cmp -s - "$work/expected" || fail "pages"
  tail -n 1 "$work/pages.log" | grep -q 'active-cache set nothing' ||
    fail "an item that is not there"
  "$programs/active-cache" check news --count 100 | grep -q '^100 answers' || fail "check"
  interrupted 0
  unset IW_DDSS
}

servers_come_and_leave() {
  begin 'address ' two-sites manager
  manager=$begun
  export IW_DDSS="$said"
  export IW_DDSS_DAEMON="$work/none"  # a server is a node of its own
  begin 'server 1, place 0: begins at site ' two-sites server A
  unset IW_DDSS_DAEMON
  "$programs/two-sites" load A 0 >"$work/load.log" || fail "load"
  "$programs/two-sites" show | grep -q 'site A: 0 requests wait; servers 1$' || fail "show"
  interrupted 0
  "$programs/two-sites" show | grep -q 'site A: 0 requests wait; servers$' ||
    fail "it did not leave"
  begun=$manager
  interrupted 0
  unset IW_DDSS
}

records_are_selected() {
  export IW_DDSS_DAEMON="$work/none"  # so are data nodes, and a selection with its workers
  begin 'address ' select-records data --records 2000
  export IW_DDSS="$said"
  "$programs/select-records" select --where 'id<17' --by both --show 2 >"$work/select.log" ||
    fail "select"
  grep -q '^17 of 2000 records$' "$work/select.log" || fail "17 records"
  interrupted 0
  unset IW_DDSS IW_DDSS_DAEMON
}

# Two at once, where the environment names a third program's space: each has a space of its own.
runs_do_not_meet() {
  begin 'address ' active-cache back-end
  back_end=$begun
  export IW_DDSS="$said"
  begin 'held at step 5' checkpointed-run --cells 1000 --steps 10 --hold-at 5 --folder "$work/held"
  "$programs/checkpointed-run" --cells 500 --steps 10 --folder "$work/beside" \
    >"$work/beside.log" || fail "beside"
  interrupted 130
  unset IW_DDSS
  "$programs/checkpointed-run" --cells 500 --steps 10 --folder "$work/alone" >"$work/alone.log" ||
    fail "alone"
  test "$(grep ^result "$work/beside.log")" = "$(grep ^result "$work/alone.log")" || fail "they met"
  begun=$back_end
  interrupted 0
}

an_interrupted_run_goes_on() {
  begin 'checkpoint at ' checkpointed-run --cells 1000 --steps 100000000 --every 5 \
    --folder "$work/checkpoints"
  interrupted 130
  begin 'continues at step ' checkpointed-run --cells 1000 --steps 100000000 --every 5 \
    --folder "$work/checkpoints"
  test "${said%%;*}" -ge 5 || fail "it began anew"
  interrupted 130
  refused 1 '--cells 1000' checkpointed-run --cells 1001 --steps 100000000 \
    --folder "$work/checkpoints"
}

every_program_has_help_and_says_what_is_wrong
pages_are_new_then_kept_until_data_changes
servers_come_and_leave
records_are_selected
an_interrupted_run_goes_on
runs_do_not_meet
echo "all well"
