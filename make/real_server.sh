# For tests that are shell scripts (POSIX): a server of their own and a folder for their logs, both
# gone at the end. To be sourced. Gives $work, a folder; $server, $address after `start_server
# PROGRAM [OPTION]...`; `fail TEXT...`; `field FILE NAME`, `refused STATUS TEXT PROGRAM
# [ARGUMENT]...`, `watch_over SECONDS PROGRAM`, `own_token PORT`; and processes named in $others are
# ended with the test.
work=$(mktemp -d)
server=
others=
watchdog=
holder=
clean_up() {
  for process in $server $others $watchdog $holder; do kill "$process" 2>/dev/null || true; done
  rm -rf "$work"
}
trap clean_up EXIT

fail() {
  echo "FAILED: $*" >&2
  for log in "$work"/*.log; do
    echo "--- $log" >&2
    cat "$log" >&2
  done
  exit 1
}

# field FILE NAME: a member of a summary, without its quotes.
field() {
  sed -n "s/.*\"$2\": \"\\{0,1\\}\\([^\",}]*\\).*/\\1/p" "$1"
}

# refused STATUS TEXT PROGRAM [ARGUMENT]...: with an error that contains TEXT.
refused() {
  wanted=$1
  text=$2
  shift 2
  status=0
  "$@" >"$work/refused.log" 2>&1 || status=$?
  test "$status" = "$wanted" || fail "$* ended with status $status"
  grep -q -e "$text" "$work/refused.log" || fail "$* does not say '$text'"
}

# watch_over SECONDS PROGRAM: after so long the test fails and says where PROGRAM's processes stand.
# ctest ends a test without its logs.
watch_over() {
  (
    sleep "$1" </dev/null >/dev/null 2>&1
    for process in $(pgrep -f "^$2"); do
      echo "--- $process, $(tr '\0' ' ' <"/proc/$process/cmdline")" >&2
      gdb -p "$process" -batch -ex 'thread apply all backtrace 12' 2>/dev/null >&2 ||
        cat "/proc/$process"/task/*/stack >&2 || true
    done
    for log in "$work"/*.log; do
      echo "--- $log" >&2
      cat "$log" >&2
    done
    echo "FAILED: it stands still after $1 s" >&2
    kill "$$"
  ) &
  watchdog=$!
}

# hold_port: gives $port, which the system gives to no other process until the test ends, also not
# while a server is started again there. It is bound, and nobody listens on it.
hold_port() {
  mkfifo "$work/port"
  python3 -c '
import signal, socket
held = socket.socket()
held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
held.bind(("127.0.0.1", 0))
print(held.getsockname()[1], flush=True)
signal.pause()' >"$work/port" &
  holder=$!
  read -r port <"$work/port"
}

# own_token PORT: the token of the server of this user that has the port of 127.0.0.1.
own_token() {
  for folder in ${XDG_RUNTIME_DIR:+"$XDG_RUNTIME_DIR/interweave"} \
    "/run/user/$(id -u)/interweave" "/tmp/interweave-$(id -u)"; do
    test ! -f "$folder/$1.token" || { cat "$folder/$1.token"; return; }
  done
  fail "no file has the token of port $1"
}

start_server() {
  program=$1
  shift
  hold_port
  mkfifo "$work/ready"
  "$program" serve --listen "127.0.0.1:$port" --http 127.0.0.1:0 --store memory "$@" \
    >"$work/ready" 2>"$work/server.log" &
  server=$!
  exec 3<"$work/ready"
  address=
  while read -r word address <&3; do
    test "$word" = listening && break
  done
  test -n "$address" || fail "the server did not say where it listens"
}
