# For the tests of programs, to be sourced after make/real_server.sh: a server that keeps nothing is
# killed and started again under a simulator and a viewer, which continue by themselves [LOST-6].

restart_server() {
  kill -KILL "$server"
  wait "$server" 2>/dev/null || true
  exec 3<&-
  rm "$work/ready"
  mkfifo "$work/ready"
  "$interweave" serve --listen "$address" --http none --store memory >"$work/ready" 2>>"$work/server.log" &
  server=$!
  exec 3<"$work/ready"
  word=
  while read -r word _ <&3; do
    test "$word" = listening && break
  done
  test "$word" = listening || fail "the server did not start again"
}

# survives_a_server_that_lost_everything SIMULATOR
survives_a_server_that_lost_everything() {
  url="$address/$1"
  "$astroflow/$1" --url "$url" --problem sod --max-fps 50 --summary "$work/$1.json" \
    >"$work/$1.log" 2>&1 &
  simulator=$!
  "$astroflow/astroflow-viewer" --url "$url" --coherence full --headless --until-finished \
    --summary "$work/$1-viewer.json" >"$work/$1-viewer.log" 2>&1 &
  viewer=$!
  others="$simulator $viewer"
  until "$interweave" get "$url#header#time" >/dev/null 2>&1; do
    kill -0 "$simulator" || fail "$1 did not begin"
  done
  restart_server
  until "$interweave" get "$url#header#time" >/dev/null 2>&1; do
    kill -0 "$simulator" || fail "$1 ended with its server"
  done
  kill -TERM "$simulator"
  wait "$simulator" || fail "$1 did not stop cleanly"
  wait "$viewer" || fail "the viewer of $1"
  others=
  test "$(field "$work/$1-viewer.json" checksum)" = "$(field "$work/$1.json" checksum)" \
    || fail "the viewer's arrays are not those of $1"
}
