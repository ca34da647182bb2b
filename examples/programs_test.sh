#!/bin/sh
# The example programs as their users run them, against a real server:
#   programs_test.sh INTERWEAVE DIR-OF-ASTROFLOW-PROGRAMS LIST
# Waits only for lines that programs print and for programs to end.
set -eu

interweave=$1
astroflow=$2
list=$3
. "$(dirname "$0")/../make/real_server.sh"
. "$(dirname "$0")/astroflow/lost_server.sh"

simulator_alone_needs_no_viewer() {
  "$astroflow/astroflow-simulator" --url "$address/alone" --problem kh --frames 400 --quiet \
    --summary "$work/alone.json" >"$work/alone.log" 2>&1 & alone=$!
  # Pausing, joining and leaving are a viewer's business; a viewer that
  # leaves early changes nothing.
  "$astroflow/astroflow-viewer" --url "$address/alone" --headless --frames 2 \
    >"$work/early.log" 2>&1 || fail "a viewer that leaves early"
  kill -TERM "$alone"
  wait "$alone" || fail "the simulator did not stop cleanly"
  test "$(field "$work/alone.json" frames)" -ge 1 || fail "no frame was written"
}

viewers_end_with_the_simulators_bits() {
  url="$address/sod"
  viewers=
  for coherence in temporal:0.1 full delta:3; do
    "$astroflow/astroflow-viewer" --url "$url" --coherence "$coherence" --headless \
      --until-finished --summary "$work/$coherence.json" >"$work/$coherence.log" 2>&1 &
    viewers="$viewers $!"
  done
  "$astroflow/astroflow-simulator" --url "$url" --problem sod --frames 40 --quiet \
    --summary "$work/simulator.json" >"$work/simulator.log" 2>&1 || fail "the simulator"
  for viewer in $viewers; do wait "$viewer" || fail "a viewer"; done
  test "$(field "$work/simulator.json" versions_written)" -ge 40 || fail "versions are missing"
  for coherence in temporal:0.1 full; do
    test "$(field "$work/$coherence.json" checksum)" = "$(field "$work/simulator.json" checksum)" \
      || fail "$coherence: the viewer's arrays are not the simulator's"
    error=$(field "$work/$coherence.json" mean_density_error)
    awk "BEGIN { exit !($error > 0 && $error < 1.5 * 0.0034) }" \
      || fail "$coherence: mean density error $error"
  done
}

list_is_shared_by_processes() {
  "$list" --url "$address/list" insert 3 1 || fail "list insert"
  "$list" --url "$address/list" insert 4 || fail "list insert"
  test "$("$list" --url "$address/list" show | tr '\n' ' ')" = "4 1 3 " || fail "list show"
  "$list" --url "$address/list" search 1 >"$work/search.log" || fail "list search"
  if "$list" --url "$address/list" search 7 >"$work/search.log"; then fail "list search 7"; fi
}

dead_server_is_an_error_with_its_address() {
  for program in "$astroflow/astroflow-simulator" "$astroflow/astroflow-viewer"; do
    if "$program" --url 127.0.0.1:1/nothing >"$work/dead.log" 2>&1; then fail "no server"; fi
    grep -q 127.0.0.1:1 "$work/dead.log" || fail "the error does not say which server"
  done
}

start_server "$interweave"
simulator_alone_needs_no_viewer
viewers_end_with_the_simulators_bits
list_is_shared_by_processes
dead_server_is_an_error_with_its_address
survives_a_server_that_lost_everything astroflow-simulator
echo "all well"
