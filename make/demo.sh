#!/usr/bin/env bash
# The main job: a server with its embedded store, a running gas simulation, and a viewer of it. Ends
# with Ctrl-C or the viewer's q; with FRAMES=n by itself, with a summary.
set -euo pipefail
cd "$(dirname "$0")/.."
program="$PWD/target/release/interweave"
astroflow="$PWD/$BUILD/release/examples/astroflow"
work=$(mktemp -d "${TMPDIR:-/tmp}/interweave-demo.XXXXXX")
children=()

clean_up() {
  trap '' INT TERM
  for child in "${children[@]}"; do kill -TERM "$child" 2>/dev/null || true; done
  for child in "${children[@]}"; do wait "$child" 2>/dev/null || true; done
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
  echo "demo: $1; the server's log:" >&2
  tail -n 20 "$work/server.log" >&2
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

echo "demo: server at $address, store in $work/store"
echo "demo: simulating $PROBLEM into $url"
echo "demo: look from another terminal:"
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

"$astroflow/astroflow-simulator" "${simulator_options[@]}" 2>"$work/simulator.log" &
simulator=$!
children+=("$simulator")
"$astroflow/astroflow-viewer" "${viewer_options[@]}" || fail "the viewer failed"
if [ -n "$FRAMES" ]; then
  wait "$simulator" || { cat "$work/simulator.log" >&2; fail "the simulator failed"; }
  echo "demo: the simulator"
  cat "$work/simulator.json"
  echo "demo: the viewer"
  cat "$work/viewer.json"
fi
