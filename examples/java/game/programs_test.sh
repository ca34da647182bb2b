#!/bin/sh
# The game with players in Java and in a browser, against a real server:
#   programs_test.sh INTERWEAVE DIR-OF-JAVA-EXAMPLES
# The window is tested on a screen of Xvfb. Waits only for lines that programs print and for
# programs to end.
set -eu

interweave=$1
examples=$2
here=$(dirname "$0")
. "$here/../../../make/real_server.sh"
player="java -XX:TieredStopAtLevel=1 -jar $examples/game.jar"
coins=60

# Gives $origin, where the page is.
serve_the_page() {
  mkfifo "$work/page"
  python3 -u -m http.server --bind 127.0.0.1 --directory "$examples/game/page" 0 \
    >"$work/page" 2>"$work/page.log" &
  others=$!
  exec 4<"$work/page"
  read -r line <&4
  page_port=$(echo "$line" | sed 's/.* port \([0-9]*\) .*/\1/')
  origin=http://localhost:$page_port
}

# page_of PATH: the page's address, for a game at that path, with the server's own token.
page_of() {
  echo "$origin/index.html?server=ws://$web&path=$1&pace=0#$(own_token "${web##*:}")"
}

keys_walk_in_a_window() {
  mkfifo "$work/display"
  Xvfb -displayfd 5 -screen 0 1280x1024x24 -nolisten tcp 5>"$work/display" 2>"$work/xvfb.log" &
  others="$others $!"
  read -r display <"$work/display"
  DISPLAY=":$display" timeout 120 java -XX:TieredStopAtLevel=1 \
    -cp "$examples/game.jar:$examples/game/test" \
    game.player.WindowTest "iw://$address/walk" >"$work/window.log" 2>&1 || fail "the window"
  grep -q "the window shows the player" "$work/window.log" || fail "the window's test did not run"
}

keys_walk_on_a_page() {
  timeout 120 node "$here/test/browser.mjs" walk "$(page_of /walk)" eve >"$work/walk.log" 2>&1 ||
    fail "the page"
  grep -q "^walked" "$work/walk.log" || fail "the page's test did not run"
}

# Nobody moves before all three have joined. Each coin is one player's, and all see the same end.
three_players_share_a_game() {
  for name in ada bob; do
    timeout 120 $player --url "$address/game" --headless --coins "$coins" --players 3 --pace 0 \
      "$name" >"$work/$name.txt" 2>"$work/$name.log" &
    eval "$name=$!"
    others="$others $!"
    # The page joins a game that is there.
    until "$interweave" get "$address/game#board#coins_left" >"$work/left.log" 2>&1; do
      kill -0 "$!" || fail "$name"
    done
  done
  timeout 120 node "$here/test/browser.mjs" hunt "$(page_of /game)" eve >"$work/eve.txt" \
    2>"$work/eve.log" || fail "eve"
  wait "$ada" || fail "ada"
  wait "$bob" || fail "bob"
  table=$(cat "$work/ada.txt")
  for name in bob eve; do
    test "$(cat "$work/$name.txt")" = "$table" ||
      fail "ada has '$table', and $name has '$(cat "$work/$name.txt")'"
  done
  sum=0
  for name in ada bob eve; do
    points=$(echo "$table" | sed -n "s/.*$name \([0-9]*\),.*/\1/p")
    test -n "$points" || fail "$name is not in '$table'"
    sum=$((sum + points))
  done
  test "$sum" = "$coins" || fail "$coins coins were taken $sum times: $table"
  test "$("$interweave" get "$address/game#board#coins_left")" = 0 || fail "coins are left"
  "$interweave" get "$address/game#board#cells" --json >"$work/cells.txt"
  grep -q CELL_WALL "$work/cells.txt" || fail "the board has no walls"
  ! grep -q CELL_COIN "$work/cells.txt" || fail "coins lie on the board"
  echo "$table"
}

# A player that is killed keeps its points, and nobody waits for it.
a_killed_player_comes_back() {
  $player --url "$address/again" --headless --coins 1 --players 2 cat >"$work/cat.log" 2>&1 &
  cat=$!
  until "$interweave" get "$address/again#board#players" >"$work/again.log" 2>&1; do
    kill -0 "$cat" || fail "cat"
  done
  kill -KILL "$cat"
  wait "$cat" 2>"$work/killed.log" || true
  timeout 60 $player --url "$address/again" --headless --pace 0 --players 2 dan >"$work/dan.txt" \
    2>"$work/dan.log" || fail "dan"
  grep -q "^cat 0, dan 1, 0 left" "$work/dan.txt" || fail "dan says '$(cat "$work/dan.txt")'"
}

restart_server() {
  kill -KILL "$server"
  wait "$server" 2>"$work/killed.log" || true
  exec 3<&-
  rm "$work/ready"
  mkfifo "$work/ready"
  "$interweave" serve --listen "$address" --http none --store "$work/store" >"$work/ready" \
    2>>"$work/server.log" &
  server=$!
  exec 3<"$work/ready"
  word=
  while read -r word _ <&3; do
    test "$word" = listening && break
  done
  test "$word" = listening || fail "the server did not start again"
}

coins_left() {
  "$interweave" get "$address/kept#board#coins_left" 2>"$work/left.log" || echo 300
}

# The players continue where the store is. The first restart gives the server a store on disk.
a_killed_server_loses_no_step() {
  restart_server
  for name in fay gil; do
    timeout 120 $player --url "$address/kept" --headless --coins 300 --players 2 --pace 0 "$name" \
      >"$work/$name.txt" 2>"$work/$name.log" &
    eval "$name=$!"
    others="$others $!"
  done
  for most in 250 150 50; do
    until test "$(coins_left)" -le "$most"; do
      # On a slow machine a player may have ended since, because no coin is left.
      kill -0 "$fay" && kill -0 "$gil" || test "$(coins_left)" -le "$most" ||
        fail "a player ended with the server"
    done
    restart_server
  done
  wait "$fay" || fail "fay"
  wait "$gil" || fail "gil"
  sum=$(($(sed 's/[a-z]* \([0-9]*\), [a-z]* \([0-9]*\), 0 left/\1 + \2/' "$work/fay.txt")))
  test "$sum" = 300 || fail "300 coins were taken $sum times"
  cmp "$work/fay.txt" "$work/gil.txt" || fail "the players do not agree"
}

wrong_calls_are_errors() {
  $player --help | grep -q "Examples:" || fail "no examples"
  for wrong in --coins=1 --nothing "ada bob" "--pace -1 ada" "--url" a-name-of-too-many-bytes; do
    refused 2 --help $player $wrong
  done
}

serve_the_page
page_server=$others
start_server "$interweave" --allow-origin "$origin"
others=$page_server
web=$(sed -n 's/.* HTTP: .* address=\([0-9.:]*\).*/\1/p' "$work/server.log" | head -1)
test -n "$web" || fail "the server did not say where it answers HTTP"
keys_walk_in_a_window
keys_walk_on_a_page
three_players_share_a_game
a_killed_player_comes_back
a_killed_server_loses_no_step
wrong_calls_are_errors
echo "all well"
