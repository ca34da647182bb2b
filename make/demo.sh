#!/usr/bin/env bash
# The main job: a server with its embedded store, a running gas simulation, and a viewer of it. Ends
# with Ctrl-C or the viewer's q; with FRAMES=n by itself, with a summary.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -n "$FRAMES" ] && ! [[ $FRAMES =~ ^[1-9][0-9]{0,8}$ ]]; then
  echo "demo: FRAMES='$FRAMES' is not a whole number from 1 to 999999999; try FRAMES=100 make demo" >&2
  exit 2
fi
case "$PROBLEM" in
  sod | lax | lw3 | kh) ;;
  *)
    echo "demo: PROBLEM='$PROBLEM' is not one of sod, lax, lw3, kh" >&2
    exit 2
    ;;
esac
program="$PWD/target/release/interweave"
astroflow="$(realpath -m "$BUILD")/release/examples/astroflow"
# Both compute the same bits.
case "${SIMULATOR:-cpp}" in
  cpp) simulation=astroflow-simulator ;;
  fortran) simulation=astroflow-simulator-fortran ;;
  *)
    echo "demo: SIMULATOR='$SIMULATOR' is neither cpp nor fortran" >&2
    exit 2
    ;;
esac
work=$(mktemp -d "${TMPDIR:-/tmp}/interweave-demo.XXXXXX")
children=()

# Not with wait: in an EXIT trap bash waits for ever for a child that it has heard of already.
end_child() {
  kill -TERM "$1" 2>/dev/null || return 0
  for _ in {1..250}; do
    kill -0 "$1" 2>/dev/null || return 0
    sleep 0.02
  done
  kill -KILL "$1" 2>/dev/null || true
}

clean_up() {
  trap '' INT TERM HUP
  # The last one first: the server has to answer the others' goodbyes.
  for ((i = ${#children[@]} - 1; i >= 0; --i)); do end_child "${children[i]}"; done
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# The viewer first: it gives the terminal back.
fail() {
  [ -z "${viewer:-}" ] || end_child "$viewer"
  echo "demo: $1" >&2
  for log in simulator server; do
    [ -s "$work/$log.log" ] || continue
    echo "demo: the $log's log:" >&2
    tail -n 20 "$work/$log.log" >&2
  done
  exit 1
}

mkfifo "$work/ready"
"$program" serve --listen 127.0.0.1:0 --http 127.0.0.1:0 --store "$work/store" \
  >"$work/ready" 2>"$work/server.log" &
server=$!
children+=("$server")
exec 3<"$work/ready"
address=
while read -r word rest <&3; do
  if [ "$word" = listening ]; then address=$rest; break; fi
done
[ -n "$address" ] || fail "the server did not start"
url="$address/astroflow"

# Logged before the server says that it listens.
http=$(sed -n 's/.*HTTP: .*address=//p' "$work/server.log" | head -n 1)
[ -n "$http" ] || fail "the server's log does not say where its viewer is"

# The density's heat map, and beside it what the simulator obeys: its CFL
# number's range is solver.h's.
steered=header.want_cfl:0.05:0.8,header.want_problem,header.want_pause
# Logged by file, because the log is not a terminal.
token=$(sed -n 's/.* token=\([^ ]*\).*/\1/p' "$work/server.log" | head -n 1)
[ -s "$token" ] || fail "the server's log does not say where its token is"
link="http://$http/login#$(cat "$token")/astroflow?block=density&steer=$steered"
echo "demo: watch and steer it in a browser: $link"
echo "demo: server at $address, store in $work/store"
echo "demo: simulating $PROBLEM into $url ($simulation)"
echo "demo: or look from another terminal:"
echo "        $astroflow/astroflow-viewer --url $url"
echo "        $program show $url"
echo "        $program watch $url"

simulator_options=(--url "$url" --problem "$PROBLEM" --quiet --summary "$work/simulator.json")
viewer_options=(--url "$url" --summary "$work/viewer.json")
if [ -n "$FRAMES" ]; then
  simulator_options+=(--frames "$FRAMES")
  viewer_options+=(--until-finished --coherence full)
else
  simulator_options+=(--max-fps 30)
fi
[ -t 1 ] || viewer_options+=(--headless)

"$astroflow/$simulation" "${simulator_options[@]}" 2>"$work/simulator.log" &
simulator=$!
children+=("$simulator")
# In the background, so that a signal is handled at once; with the terminal all the same.
"$astroflow/astroflow-viewer" "${viewer_options[@]}" <&0 &
viewer=$!
children+=("$viewer")

running=("$server" "$viewer" "$simulator")
while true; do
  status=0
  wait -n -p ended "${running[@]}" || status=$?
  case "$ended" in
    "$viewer")
      [ "$status" -eq 0 ] || fail "the viewer failed"
      viewer=
      break
      ;;
    "$simulator")
      [ "$status" -eq 0 ] || fail "the simulator failed"
      [ -n "$FRAMES" ] || fail "the simulator ended by itself"
      running=("$server" "$viewer")
      ;;
    *) fail "the server ended" ;;
  esac
done
if [ -n "$FRAMES" ]; then
  if [ ${#running[@]} -eq 3 ]; then wait "$simulator" || fail "the simulator failed"; fi
  echo "demo: the simulator"
  cat "$work/simulator.json"
  echo "demo: the viewer"
  cat "$work/viewer.json"
fi
