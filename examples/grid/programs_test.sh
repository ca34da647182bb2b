#!/bin/sh
# The demo as its users run it: programs_test.sh GRID. Waits only for lines that it prints, and for
# processes to end.
set -eu

grid=$1
. "$(dirname "$0")/../../make/real_server.sh"
# Where the transport would leave what it does not take back; it asks the kernel for the rest.
mkdir "$work/posix"
export UCX_POSIX_DIR="$work/posix"

# `all_have_the_same LOG N`: N processes, one digest.
all_have_the_same() {
  test "$(grep -c ' has the digest [0-9a-f]*$' "$1")" = "$2" || fail "$2 processes"
  test "$(sed -n 's/.* has the digest //p' "$1" | sort -u | wc -l)" = 1 || fail "the digests"
  grep -q "^identical: $2 of " "$1" || fail "they are said to be different"
}

storms_leave_the_same_on_two_four_and_eight_processes() {
  for processes in 2 4 8; do
    "$grid" --plain --processes "$processes" --rate 0 --updates 1500 \
      >"$work/$processes.log" 2>&1 </dev/null ||
      fail "$processes processes"
    all_have_the_same "$work/$processes.log" "$processes"
  done
  digests=$(sed -n 's/.* has the digest //p' "$work/2.log" "$work/4.log" "$work/8.log" | sort -u)
  test "$(echo "$digests" | wc -l)" = 3 ||
    fail "different storms leave the same"
}

# Begins a storm without end of four processes: its lines come from 3, its keys go to 4; 5 ends when
# all of its processes have. $launcher, $pids. `begin_endless_storm [OPTION]...`.
begin_endless_storm() {
  rm -f "$work/lines" "$work/keys" "$work/life"
  mkfifo "$work/lines" "$work/keys" "$work/life"
  "$grid" --plain --rate 0 --updates 0 "$@" >"$work/lines" \
    2>"$work/life" <"$work/keys" & launcher=$!
  others=$launcher
  # In the order in which the other side opens them.
  exec 3<"$work/lines" 5<"$work/life" 4>"$work/keys"
  pids=
  : >"$work/storm.log"
  wait_for_line "the storm begins"
  pids=$(sed -n 's/^process [0-9] is \([0-9]*\)$/\1/p' "$work/storm.log")
}

# Until a line begins like that; all lines go to storm.log.
wait_for_line() {
  while read -r line <&3; do
    echo "$line" >>"$work/storm.log"
    case $line in "$1"*) return ;; esac
  done
  fail "it did not say: $1"
}

nothing_is_left() {
  cat <&5 >>"$work/left.log"  # ends with the last of the processes
  others=
  # Another user's process may have had the same number.
  for pid in $pids; do
    awk -v pid="$pid" -v user="$(id -u)" \
      '$5 == pid && $8 == user { found = 1 } END { exit found }' /proc/sysvipc/shm ||
      fail "process $pid leaves shared memory"
  done
  test -z "$(ls "$work/posix")" || fail "files of shared memory are left"
  exec 3<&- 4>&- 5<&-
}

# `end_storm N`: by its key; N processes are left and have the same.
end_storm() {
  printf q >&4
  cat <&3 >>"$work/storm.log"
  wait "$launcher" || fail "what is left is not the same"
  all_have_the_same "$work/storm.log" "$1"
  nothing_is_left
}

killed_in_the_storm_its_grid_is_written_by_another() {
  begin_endless_storm
  kill -KILL "$(sed -n 's/^process 2 is \([0-9]*\)$/\1/p' "$work/storm.log")"
  wait_for_line "process 2 is gone"
  wait_for_line "grid 2 is written by process "
  end_storm 3
}

# The patience is more than a process may need that looks for a writer in vain.
stopped_in_the_storm_it_is_killed_and_its_grid_is_written_by_another() {
  begin_endless_storm --patience 15
  kill -STOP "$(sed -n 's/^process 2 is \([0-9]*\)$/\1/p' "$work/storm.log")"
  wait_for_line "process 2 does not answer: killed"
  wait_for_line "grid 2 is written by process "
  end_storm 3
}

killed_one_after_the_other_the_last_has_it_all() {
  begin_endless_storm
  for number in 0 1 3; do
    printf %s "$number" >&4
    wait_for_line "process $number is gone"
  done
  end_storm 1
}

ctrl_c_ends_all() {
  begin_endless_storm
  kill -INT "$launcher"
  status=0
  wait "$launcher" || status=$?
  test "$status" = 130 || fail "Ctrl-C ended it with status $status"
  nothing_is_left
}

# Their input ends with it.
a_killed_launcher_takes_all_with_it() {
  begin_endless_storm
  kill -KILL "$launcher"
  wait "$launcher" || true
  nothing_is_left
}

# is_no_name_server PROGRAM TEXT: it is refused with an error that contains TEXT.
is_no_name_server() {
  if "$grid" --plain --patience 1 --name-server "$1" >"$work/refused.log" 2>&1 </dev/null; then
    fail "$1"
  fi
  grep -q "$1 is not a name server: it said $2" "$work/refused.log" || fail "why $1 is refused"
}

what_is_wrong_is_said() {
  if "$grid" --processes 1 2>"$work/refused.log"; then fail "one process"; fi
  grep -q '2 to 10' "$work/refused.log" || fail "how many may be"
  is_no_name_server /nowhere/amns nothing
  grep -q '/nowhere/amns: No such file' "$work/refused.log" || fail "what is wrong with it"
  is_no_name_server /bin/true nothing
  is_no_name_server /bin/cat nothing  # it waits for its input
  is_no_name_server /usr/bin/whoami "$(whoami)"
}

watch_over 200 "$grid"
storms_leave_the_same_on_two_four_and_eight_processes
killed_in_the_storm_its_grid_is_written_by_another
stopped_in_the_storm_it_is_killed_and_its_grid_is_written_by_another
killed_one_after_the_other_the_last_has_it_all
ctrl_c_ends_all
a_killed_launcher_takes_all_with_it
what_is_wrong_is_said
echo "all well"
