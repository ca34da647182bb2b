#!/bin/sh
# The viewer in Java beside the simulator in Fortran and the viewer in C++, against a real server:
#   programs_test.sh INTERWEAVE DIR-OF-ASTROFLOW-PROGRAMS DIR-OF-JAVA-EXAMPLES
# The window is tested on a screen of Xvfb. Waits only for lines that programs print and for
# programs to end.
set -eu

interweave=$1
astroflow=$2
examples=$3
. "$(dirname "$0")/../../../make/real_server.sh"
viewer="java -XX:TieredStopAtLevel=1 -jar $examples/astroflow-viewer.jar"

# Two viewers in Java and one in C++ follow one simulator.
viewers_end_with_the_bits_of_the_simulator() {
  for number in 1 2; do
    : >"$work/viewer$number.log"
    $viewer --url "$address/seen" --coherence full --headless --until-finished \
      --png "$work/png$number" >"$work/viewer$number.log" 2>&1 &
    eval "viewer$number=$!"
  done
  "$astroflow/astroflow-viewer" --url "$address/seen" --headless --until-finished \
    >"$work/cpp.log" 2>&1 &
  cpp=$!
  "$astroflow/astroflow-simulator-fortran" --url "$address/seen" --problem sod --frames 5 --quiet \
    --summary "$work/seen.json" >"$work/seen.log" 2>&1 || fail "the simulator"
  # They begin while it runs or after it: a viewer that comes late sees the last frame alone.
  for process in "$viewer1" "$viewer2"; do others="$others $process"; done
  wanted=$(field "$work/seen.json" checksum)
  test -n "$wanted" || fail "no checksum"
  for number in 1 2; do
    until grep -q "checksum $wanted" "$work/viewer$number.log"; do
      eval "kill -0 \$viewer$number" 2>/dev/null || break
    done
    eval "kill -TERM \$viewer$number" 2>/dev/null || true
    eval "wait \$viewer$number" || fail "viewer $number"
    tail -2 "$work/viewer$number.log" | grep -q "checksum $wanted" ||
      fail "viewer $number has other bits"
    test -s "$work/png$number/frame-000005.png" || fail "viewer $number writes no picture"
  done
  others=
  kill -TERM "$cpp" 2>/dev/null || true
  wait "$cpp" || fail "the viewer in C++"
}

# The viewer of before: files instead of a segment.
files_show_the_same_frames() {
  mkdir "$work/frames"
  "$astroflow/astroflow-plain" sod 5 "$work/frames" >"$work/plain.log" || fail "plain"
  $viewer --files "$work/frames" --headless --frames 5 >"$work/files.log" 2>&1 || fail "files"
  grep -q "frame 5 .*checksum $wanted" "$work/files.log" || fail "the files have other bits"
}

# Shells start background programs without SIGINT, so Python gives it back.
ctrl_c_ends_the_viewer_cleanly() {
  : >"$work/ended.log"
  python3 -c "import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])" $viewer --url "$address/seen" --headless \
    >"$work/ended.log" 2>&1 &
  others=$!
  until grep -q "checksum" "$work/ended.log"; do
    kill -0 "$others" || fail "the viewer ended"
  done
  kill -INT "$others"
  wait "$others" || fail "the viewer did not end cleanly"
  others=
}

the_window_shows_the_data() {
  mkfifo "$work/display"
  Xvfb -displayfd 4 -screen 0 1280x1024x24 -nolisten tcp 4>"$work/display" 2>"$work/xvfb.log" &
  others=$!
  read -r display <"$work/display"
  DISPLAY=":$display" timeout 120 java -XX:TieredStopAtLevel=1 \
    -cp "$examples/astroflow-viewer.jar:$examples/astroflow/test" \
    astroflow.viewer.WindowTest "iw://$address/seen" >"$work/window.log" 2>&1 || fail "the window"
  grep -q "the window shows the data" "$work/window.log" || fail "the window's test did not run"
}

wrong_calls_are_errors() {
  $viewer --help | grep -q "Examples:" || fail "no examples"
  for wrong in --coherence=soon --frames=0 --nothing --url; do
    refused 2 --help $viewer $wrong
  done
}

start_server "$interweave"
viewers_end_with_the_bits_of_the_simulator
files_show_the_same_frames
ctrl_c_ends_the_viewer_cleanly
the_window_shows_the_data
wrong_calls_are_errors
echo "all well"
