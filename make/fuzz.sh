#!/usr/bin/env bash
# Fuzzes every decoder, SECONDS_EACH seconds each (default 60): the server's and the compiler's with
# libFuzzer under stable Rust, the client's with clang's libFuzzer, address and undefined-behaviour
# sanitizers. `make/fuzz.sh --short` is the few seconds of `make test-deep`, which begin anew each time;
# `make/fuzz.sh server/diffs ...` runs only those named.
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh

out="$(realpath -m "$BUILD")/fuzz"
seconds=${SECONDS_EACH:-60}
short=
if [ "${1:-}" = --short ]; then
  short=yes
  seconds=${SECONDS_EACH:-5}
  shift
fi
# The timeout is by the clock on the wall: a busy machine may stand still for a minute.
limits=(-rss_limit_mb=512 -malloc_limit_mb=256 -timeout=120 -report_slow_units=60)
targets=(
  server/frames server/control server/descriptors server/diffs server/mips server/log
  server/stores server/engine server/http server/websocket
  server/xdr_files
  native/frames native/control native/descriptors native/diffs native/mips
)
[ $# -eq 0 ] || targets=("$@")

# What `-Z sanitizer` would pass, said with stable options.
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing"
host=$(rustc -vV | sed -n 's/^host: //p')

build_server() {
  # With --target, so that build scripts are not instrumented.
  RUSTFLAGS="$RUSTFLAGS $coverage" CARGO_TARGET_DIR="$out/server" \
    cargo build --quiet --release --locked --target "$host" --manifest-path fuzz/server/Cargo.toml
}

build_native() {
  command -v clang++ >/dev/null || { echo "fuzz: clang++ is missing; make setup installs it" >&2; exit 1; }
  mkdir -p "$out"
  cmake -S . -B "$out/native" -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
    -DCMAKE_BUILD_TYPE=Fuzz -DCMAKE_CXX_FLAGS_FUZZ="-O1 -g1" \
    -DIW_FUZZ=ON -DIW_EXAMPLES=OFF -DIW_TESTS=OFF -DIW_SANITIZE=address,undefined,fuzzer-no-link \
    >"$out/configure.log" 2>&1 || { cat "$out/configure.log"; exit 1; }
  cmake --build "$out/native" --target fuzz --parallel "$JOBS" -- --quiet
}

program_of() {  # server/diffs
  case $1 in
    server/*) echo "$out/server/$host/release/${1#*/}" ;;
    native/*) echo "$out/native/fuzz/native/fuzz_${1#*/}" ;;
    *) echo "fuzz: there is no target $1; there are: ${targets[*]}" >&2; exit 1 ;;
  esac
}

mkdir -p "$out/logs" "$out/crashes"
build_server
build_native
rm -rf "$out/seeds"
fuzz/seeds.py "$out/seeds"

scratch=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -rf "$scratch"' EXIT

failed=0
for target in "${targets[@]}"; do
  name=${target/\//-}
  program=$(program_of "$target")
  corpus="$out/corpus/$name"
  run=("$program" "${limits[@]}" -max_total_time="$seconds" -artifact_prefix="$out/crashes/$name-")
  if [ -n "$short" ]; then
    corpus=$(mktemp -d -p "$scratch")
    run+=(-seed=1)
  fi
  mkdir -p "$corpus"
  log="$out/logs/$name.log"
  if TMPDIR="$scratch" "${run[@]}" "$corpus" "$out/seeds/${target#*/}" >"$log" 2>&1; then
    printf 'fuzz: %-20s %s\n' "$target" "$(sed -n 's/^Done //p' "$log")"
    continue
  fi
  failed=1
  printf 'fuzz: %-20s FAILED, see %s\n' "$target" "$log"
  grep -m 5 -E 'panicked|does not hold|runtime error|ERROR|SUMMARY' -A 1 "$log" | sed 's/^/  /' | cut -c 1-160 || true
  found=$(sed -n 's/.*Test unit written to //p' "$log" | tail -1)
  [ -z "$found" ] || echo "  again: $program $found"
done
exit "$failed"
