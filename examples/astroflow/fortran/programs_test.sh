#!/bin/sh
# The Fortran programs beside the C++ ones, against a real server:
#   programs_test.sh INTERWEAVE DIR-OF-ASTROFLOW-PROGRAMS
# All simulators compute the same bits; viewers do not tell them apart. Waits only for lines that
# programs print and for programs to end.
set -eu

interweave=$1
astroflow=$2
. "$(dirname "$0")/../../../make/real_server.sh"
. "$(dirname "$0")/../lost_server.sh"

all_simulators_compute_the_same_bits() {
  mkdir "$work/frames"
  "$astroflow/astroflow-simulator" --url "$address/cpp" --problem sod --frames 3 --quiet \
    --summary "$work/cpp.json" >"$work/cpp.log" 2>&1 || fail "the C++ simulator"
  wanted=$(field "$work/cpp.json" checksum)
  test -n "$wanted" || fail "no checksum"
  "$astroflow/astroflow-simulator-fortran" --url "$address/fortran" --problem sod --frames 3 \
    --quiet --summary "$work/fortran.json" >"$work/fortran.log" 2>&1 || fail "the Fortran simulator"
  test "$(field "$work/fortran.json" checksum)" = "$wanted" || fail "the simulators differ"
  "$astroflow/astroflow-plain" sod 3 "$work/frames" >"$work/plain.log" || fail "plain"
  "$astroflow/astroflow-shared" sod 3 "$address/shared" >"$work/shared.log" || fail "shared"
  "$astroflow/astroflow-shared-alone" sod 3 nowhere >"$work/alone.log" ||
    fail "shared without sharing"
  for program in plain shared alone; do
    grep -q "checksum $wanted" "$work/$program.log" || fail "$program computes other bits"
  done
  test "$(find "$work/frames" -type f | wc -l)" -eq 3 || fail "plain writes a file a frame"
}

viewers_end_with_the_bits_of_the_fortran_simulators() {
  "$astroflow/astroflow-viewer" --url "$address/seen" --coherence full --headless \
    --until-finished --summary "$work/viewer.json" >"$work/viewer.log" 2>&1 &
  viewer=$!
  "$astroflow/astroflow-simulator-fortran" --url "$address/seen" --problem sod --frames 20 --quiet \
    --summary "$work/seen.json" >"$work/seen.log" 2>&1 || fail "the simulator"
  wait "$viewer" || fail "the viewer"
  test "$(field "$work/viewer.json" checksum)" = "$(field "$work/seen.json" checksum)" \
    || fail "the viewer's arrays are not the simulator's"
  error=$(field "$work/viewer.json" mean_density_error)
  awk "BEGIN { exit !($error > 0 && $error < 1.5 * 0.0034) }" || fail "mean density error $error"
  "$astroflow/astroflow-viewer" --url "$address/shared" --headless --until-finished \
    --summary "$work/viewer.json" >"$work/viewer.log" 2>&1 || fail "the viewer of shared"
  grep -q "checksum $(field "$work/viewer.json" checksum)" "$work/shared.log" ||
    fail "shared's bits"
}

# Steered from the shell: the program that sets a want_ field sees it obeyed.
the_simulator_obeys_and_stops() {
  header="$address/steered#header"
  "$astroflow/astroflow-simulator-fortran" --url "$address/steered" --problem sod --max-fps 200 \
    >"$work/steered.log" 2>&1 &
  simulator=$!
  others=$simulator
  until "$interweave" get "$header#time" >/dev/null 2>&1; do
    kill -0 "$simulator" || fail "it ended"
  done
  "$interweave" set "$header#want_cfl" 0.3 >/dev/null || fail "set want_cfl"
  until "$interweave" get "$header#cfl" | grep -q '^0\.3'; do
    kill -0 "$simulator" || fail "it ended"
  done
  "$interweave" set "$header#want_pause" true >/dev/null || fail "set want_pause"
  until "$interweave" get "$header#status" | grep -q PAUSED; do
    kill -0 "$simulator" || fail "it ended"
  done
  "$interweave" set "$header#want_problem" FLOW_LAX >/dev/null || fail "set want_problem"
  until "$interweave" get "$header#problem" | grep -q LAX; do
    kill -0 "$simulator" || fail "it ended"
  done
  kill -TERM "$simulator"
  wait "$simulator" || fail "the simulator did not stop cleanly"
  "$interweave" get "$header#status" | grep -q FINISHED ||
    fail "the last version does not say the end"
}

wrong_calls_and_dead_servers_are_errors() {
  if "$astroflow/astroflow-simulator-fortran" --url 127.0.0.1:1/nothing >"$work/dead.log" 2>&1; then
    fail "no server"
  fi
  grep -q 127.0.0.1:1 "$work/dead.log" || fail "the error does not say which server"
  for wrong in --cfl=2 --problem=none --frames=0 --max-fps=-1 --nothing=1 --url; do
    status=0
    "$astroflow/astroflow-simulator-fortran" $wrong >"$work/wrong.log" 2>&1 || status=$?
    test $status -eq 2 || fail "$wrong: status $status"
    grep -q -- --help "$work/wrong.log" || fail "$wrong: no hint"
  done
}

# The frame that was on its way is computed again: the same bits.
shared_survives_a_server_that_lost_everything() {
  "$astroflow/astroflow-shared" sod 3 "$address/survivor" >"$work/survivor.log" 2>&1 &
  shared=$!
  others=$shared
  until "$interweave" get "$address/survivor#header#time" >/dev/null 2>&1; do
    kill -0 "$shared" || fail "shared did not begin"
  done
  restart_server
  wait "$shared" || fail "shared ended with its server"
  others=
  grep -q "checksum $wanted" "$work/survivor.log" || fail "shared computes other bits after a loss"
  # It was there until the end, not only before.
  "$interweave" get "$address/survivor#header#status" | grep -q FINISHED || fail "the last frame"
}

start_server "$interweave"
all_simulators_compute_the_same_bits
viewers_end_with_the_bits_of_the_fortran_simulators
the_simulator_obeys_and_stops
wrong_calls_and_dead_servers_are_errors
survives_a_server_that_lost_everything astroflow-simulator-fortran
shared_survives_a_server_that_lost_everything
echo "all well"
