#!/usr/bin/env bash
# Fuzzes every decoder: the server's and the compiler's with libFuzzer under stable Rust, the
# client's and the cluster's with clang's libFuzzer, address and undefined-behaviour sanitizers.
#
#   make/fuzz.sh                  SECONDS_EACH seconds each (default 60); inputs that reach new code
#                                 are kept in $BUILD/fuzz/corpus
#   make/fuzz.sh server/diffs ... only these
#   make/fuzz.sh --short          the few seconds of `make test-deep`, which begin anew each time
#   make/fuzz.sh login            the targets of clients that have not logged in, INPUTS inputs each
#                                 (default 1,000,000), of all lengths that such a client may send
#   make/fuzz.sh merge [TARGET]   makes fuzz/corpora anew: of the old and the new inputs, the
#                                 smallest that together reach all code that the whole reaches
#                                 (of all targets of that kind, because they share it)
#   make/fuzz.sh speed [TARGET]   executions a second with the median input of the target's corpus
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh

out="$(realpath -m "$BUILD")/fuzz"
seconds=${SECONDS_EACH:-60}
mode=fuzz
case ${1:-} in
  --short)
    mode=short
    seconds=${SECONDS_EACH:-5}
    shift
    ;;
  login | merge | speed)
    mode=$1
    shift
    ;;
esac
# The timeout is by the clock on the wall: a busy machine may stand still for a minute.
limits=(-rss_limit_mb=512 -malloc_limit_mb=256 -timeout=120 -report_slow_units=60)
# An input of the corpora is at most so long: each is to be read, and all are in every clone.
longest=4096
# Longer than what a client may send before it has logged in [NET-8].
before_login=28672
targets=(
  server/frames server/control server/descriptors server/diffs server/mips server/log
  server/stores server/engine server/http server/websocket server/rules server/tokens
  server/segment_files server/xdr_files
  strangers/frames strangers/http strangers/websocket
  native/frames native/control native/descriptors native/diffs native/mips
  cluster/am cluster/ddss cluster/containers cluster/access cluster/dsm cluster/dsm_services
)
all=("${targets[@]}")
[ $# -eq 0 ] || targets=("$@")
case $mode in
  login) [ $# -gt 0 ] || mapfile -t targets < <(printf '%s\n' "${all[@]}" | grep ^strangers/) ;;
  merge)
    # Of one kind all targets: the corpus is everybody's.
    for target in "${targets[@]}"; do
      [[ " ${all[*]} " == *" $target "* ]] || { echo "fuzz: $target is not a target" >&2; exit 2; }
    done
    wanted=" ${targets[*]##*/} "
    targets=()
    for target in "${all[@]}"; do
      [[ $wanted != *" ${target##*/} "* ]] || targets+=("$target")
    done
    ;;
esac

# What costs time in every execution and tells a reader of a report little: frames that outlive
# their functions (compiled in, too), and more callers of each allocation than these.
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_stack_use_after_return=0:malloc_context_size=3:quarantine_size_mb=32}"

# What `-Z sanitizer` would pass, said with stable options.
coverage="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing"
host=$(rustc -vV | sed -n 's/^host: //p')

build_server() {
  local programs=() target
  for target in "${targets[@]}"; do
    case $target in
      server/*) programs+=(--bin "${target#*/}") ;;
      strangers/*) programs+=(--bin "${target/\//_}") ;;
    esac
  done
  [ ${#programs[@]} -gt 0 ] || return 0
  # With --target, so that build scripts are not instrumented.
  RUSTFLAGS="$RUSTFLAGS $coverage" CARGO_TARGET_DIR="$out/server" \
    cargo build --quiet --release --locked --target "$host" \
    --manifest-path fuzz/server/programs/Cargo.toml "${programs[@]}"
}

build_native() {
  command -v clang++ >/dev/null || {
    echo "fuzz: clang++ is missing; make setup installs it" >&2
    exit 1
  }
  mkdir -p "$out"
  cmake -S . -B "$out/native" -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
    -DCMAKE_BUILD_TYPE=Fuzz -DCMAKE_CXX_FLAGS_FUZZ="-O2 -g1" \
    -DIW_FUZZ=ON -DIW_EXAMPLES=OFF -DIW_TESTS=OFF -DIW_SANITIZE=address,undefined,fuzzer-no-link \
    >"$out/configure.log" 2>&1 || { cat "$out/configure.log"; exit 1; }
  cmake --build "$out/native" --target fuzz --parallel "$JOBS" -- --quiet
}

# Those of one kind take the same bytes, whichever decoder they are: they share corpus and seeds.
kind_of() { echo "${1#*/}"; }

program_of() {  # server/diffs
  case $1 in
    server/*) echo "$out/server/$host/release/${1#*/}" ;;
    strangers/*) echo "$out/server/$host/release/${1/\//_}" ;;
    native/* | cluster/*) echo "$out/native/fuzz/${1%%/*}/fuzz_${1#*/}" ;;
    *) echo "fuzz: $1 is not a target; the targets are: ${targets[*]}" >&2; exit 1 ;;
  esac
}

# The folders with all inputs of a kind.
inputs_of() {
  local folder
  for folder in "fuzz/corpora/$1" "$out/seeds/$1" \
    "$out/corpus"/{server,strangers,native,cluster}"-$1"; do
    [ ! -d "$folder" ] || echo "$folder"
  done
}

# run_target TARGET; the status says whether it held.
run_target() {
  local target=$1 name=${1/\//-} kind program corpus log found run
  kind=$(kind_of "$target")
  program=$(program_of "$target")
  corpus="$out/corpus/$name"
  run=("$program" "${limits[@]}" -artifact_prefix="$out/crashes/$name-")
  case $mode in
    login) run+=(-runs="${INPUTS:-1000000}" -max_len="$before_login" -print_final_stats=1) ;;
    *) run+=(-max_total_time="$seconds") ;;
  esac
  if [ "$mode" = short ]; then
    corpus=$(mktemp -d -p "$scratch")
    run+=(-seed=1)
  fi
  mkdir -p "$corpus"
  log="$out/logs/$name.log"
  if TMPDIR="$scratch" "${run[@]}" "$corpus" "fuzz/corpora/$kind" "$out/seeds/$kind" \
    >"$log" 2>&1; then
    printf 'fuzz: %-20s %s\n' "$target" "$(sed -n 's/^Done //p' "$log")"
    return
  fi
  printf 'fuzz: %-20s FAILED, see %s\n' "$target" "$log"
  { grep -m 5 -E 'panicked|does not hold|runtime error|ERROR|SUMMARY' -A 1 "$log" ||
    tail -1 "$log"; } | sed 's/^/  /' | cut -c 1-160 || true
  found=$(sed -n 's/.*Test unit written to //p' "$log" | tail -1)
  [ -z "$found" ] || echo "  again: $program $found"
  return 1
}

# merge_kind KIND TARGET...: what the first target needs, and what the next ones need besides.
merge_kind() {
  local kind=$1 all="$scratch/all-$1" fresh="$scratch/fresh-$1" target folder
  mkdir -p "$all" "$fresh" "fuzz/corpora/$kind"
  # One after another: two of them may have the same input, under the same name.
  for folder in $(inputs_of "$kind"); do
    find "$folder" -type f -size -$((longest + 1))c -exec cp -t "$all" {} +
  done
  shift
  for target in "$@"; do
    TMPDIR="$scratch" "$(program_of "$target")" "${limits[@]}" -merge=1 "$fresh" "$all" \
      >"$out/logs/merge-${target/\//-}.log" 2>&1 || {
        echo "fuzz: merging $target failed, see $out/logs" >&2
        return 1
      }
  done
  find "fuzz/corpora/$kind" -type f -delete
  cp "$fresh"/* "fuzz/corpora/$kind/"
  printf 'fuzz: %-12s %5d inputs, %7d bytes\n' "$kind" "$(ls "$fresh" | wc -l)" \
    "$(cat "$fresh"/* | wc -c)"
}

merge() {
  local kind
  for kind in $(printf '%s\n' "${targets[@]}" | sed 's|.*/||' | sort -u); do
    # shellcheck disable=SC2046
    merge_kind "$kind" $(printf '%s\n' "${targets[@]}" | grep "/$kind\$")
  done
}

speed() {
  local target folder median
  for target in "${targets[@]}"; do
    folder="fuzz/corpora/$(kind_of "$target")"
    median=$(find "$folder" -type f -printf '%s %p\n' | sort -n |
      awk '{line[NR] = $2} END {print line[int((NR + 1) / 2)]}')
    TMPDIR="$scratch" "$(program_of "$target")" -runs="${RUNS:-20000}" "$median" 2>&1 |
      awk -v target="$target" -v runs="${RUNS:-20000}" -v file="$median" '
        /^Executed/ { printf "fuzz: %-20s %8.0f executions a second, %s\n", target, runs * 1000 / ($(NF - 1) + 0.001), file }'
  done
}

mkdir -p "$out/logs" "$out/crashes"
build_server
[[ " ${targets[*]} " != *" "@(native|cluster)/* ]] || build_native
rm -rf "$out/seeds"
fuzz/seeds.py "$out/seeds"

scratch=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -rf "$scratch"' EXIT

failed=0
case $mode in
  merge) merge ;;
  speed) speed ;;
  *)
    for target in "${targets[@]}"; do run_target "$target" || failed=1; done
    [ "$mode" = short ] ||
      echo "fuzz: new inputs are in $out/corpus; make/fuzz.sh merge adds the useful ones to" \
        "fuzz/corpora"
    ;;
esac
exit "$failed"
