#!/usr/bin/env bash
# Runs the benchmarks and writes bench/results/*.csv. ONLY=NAME runs one: update, frame, read_lock,
# memory, readers, fanout, blocks, segments, checkpoint, large, locks, granularity, tracking,
# translate, swizzle, optimisations, mining, server_costs, server, solver, frames, secure, rpc, am,
# containers, ddss, dsm, dsm_faults, services, java_scimark, java_memory, java_translate, java_lock,
# java_start or java_frame (java runs all figures of Java).
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
make/build.sh
cmake -S . -B "$BUILD/release" -DIW_BENCH=ON >/dev/null
cmake --build "$BUILD/release" --parallel "$JOBS" -- "${quiet_ninja[@]}"
export IW_PROGRAM="$PWD/target/release/interweave"
export BENCH_RESULTS="$PWD/bench/results"
# The machine's numbers beside the results of a figure whose program is not C++. Programs of C++
# write them by themselves.
record_machine() { "$BUILD/release/bench/bench_machine" "$1"; }
begun=
begin() {
  begun=$1
  echo "== $1"
}
for name in update frame read_lock memory readers fanout blocks segments checkpoint large locks \
  granularity tracking translate swizzle optimisations mining; do
  if [ -n "$ONLY" ] && [ "$ONLY" != "$name" ]; then continue; fi
  begin "$name"
  "$BUILD/release/bench/bench_$name"
  case $name in
    granularity)
      make/plot.py bench/results/granularity.csv --x ratio --series operation --y us --log xy \
        --unit us --title "One word in x of a 1 MiB int array changed (ICDCS'03, Figure 5)" ;;
    translate)
      make/plot.py bench/results/translate.csv --x shape --series system,operation --y us --bars \
        --log y --unit "us per MiB" \
        --title "Translation of 1 MiB, all of it changed (ICDCS'03, Figure 4)" ;;
    swizzle)
      make/plot.py bench/results/swizzle.csv --x case --series system,operation --y million_per_s \
        --bars --log y --unit "million pointers a second" \
        --title "Pointers on their way out and in (ICDCS'03, Figure 6)" ;;
    mining)
      make/plot.py bench/results/mining.csv --x mode --series dataset --y bytes --bars --log y \
        --title "Bytes to follow a lattice through 50 updates of 1 % (ICDCS'03, Figure 7)" ;;
  esac
done
# The cluster's messages, where its transport library is there.
if [[ "$ONLY" =~ ^(am)?$ ]] && [ -x "$BUILD/release/bench/am/bench_am" ]; then
  begin am
  "$BUILD/release/bench/am/bench_am"
  make/plot.py bench/results/am.csv --x bytes --series transport,mode,system --y us --log xy \
    --unit us --title "Round trips of Active Messages and of the bare transport library"
fi
# Function shipping: an update's way into readers' queues beside a plain Active Message's.
if [[ "$ONLY" =~ ^(containers)?$ ]] &&
  [ -x "$BUILD/release/bench/containers/bench_containers" ]; then
  begin containers
  "$BUILD/release/bench/containers/bench_containers"
  make/plot.py bench/results/containers.csv --x readers --where operation=last \
    --series transport,mode,system --y us --log xy --unit us --title \
    "Until the last reader has an update in its queue, and Active Messages to as many processes"
  make/plot.py bench/results/containers_queue.csv --x queue_length --series read_every \
    --y bytes_an_update,kept,read_us --log xy --unit "bytes, updates, us" \
    --title "What a longer queue saves and keeps, 10,000 numbers read once in 64 updates"
fi
# Get and put among the nodes of a cluster: Figures 4a, 4b and 4c, and 5b.
if [[ "$ONLY" =~ ^(ddss)?$ ]] && [ -x "$BUILD/release/bench/ddss/bench_ddss" ]; then
  begin ddss
  "$BUILD/release/bench/ddss/bench_ddss"
  make/plot.py bench/results/ddss.csv --x bytes --series transport,system,model --y us --log xy \
    --unit us --where operation=put --where mode=polling \
    --title "Put by model and size (DDSS, HiPC'06, Figure 4a)"
  for figure in 4b 4c; do
    if [ $figure = 4b ]; then x=clients; else x=contention_percent; fi
    make/plot.py bench/results/ddss_clients.csv --x $x --series model --y us,mean_us --log y \
      --unit us --where figure=$figure --out bench/results/ddss_clients-$figure.svg \
      --title "Clients of one node (DDSS, HiPC'06, Figure $figure)"
  done
  make/plot.py bench/results/ddss_load.csv --x busy_threads --series system --y us,p99_us --log y \
    --unit us --title "Version check of a loaded node (DDSS, HiPC'06, Figure 5b)"
fi
# What a page costs besides its messages.
if [[ "$ONLY" =~ ^(dsm_faults)?$ ]] && [ -x "$BUILD/release/bench/dsm/bench_dsm_faults" ]; then
  begin dsm_faults
  "$BUILD/release/bench/dsm/bench_dsm_faults"
fi
# The shared memory between ranks.
if [[ "$ONLY" =~ ^(dsm)?$ ]] && [ -x "$BUILD/release/bench/dsm/bench_dsm_micro" ]; then
  begin dsm
  bench/dsm.py "$BUILD/release/bench/dsm" "$BUILD/release/examples/dsm" "$IW_PROGRAM" \
    "$BENCH_RESULTS"
  record_machine dsm
  make/plot.py bench/results/dsm.csv --x operation --series system,transport --y us --bars --log y \
    --title "Operations of the shared memory between two ranks"
  make/plot.py bench/results/dsm_pipe.csv --x buffer --series program --y s --log y --bars \
    --where way=pipe --where depth=2 --title "Kernels by the size of PIPE's buffers, two ranks"
fi
# The services over DDSS: Figures 5 and 6.
if [[ "$ONLY" =~ ^(services)?$ ]] && [ -x "$BUILD/release/examples/services/select-records" ]; then
  begin services
  bench/services.py "$BUILD/release/examples/services" "$BENCH_RESULTS"
  record_machine services
  make/plot.py bench/results/services.csv --x x --series service,operation,system --y us --log xy \
    --unit us \
    --title \
    "Services over DDSS, by busy threads, servers, records or processes (HiPC'06, Figures 5 and 6)"
fi
# Figure 10: a solver in Fortran that shares, shares not, or writes files.
if [[ "$ONLY" =~ ^(solver)?$ ]] && [ -x "$BUILD/release/examples/astroflow/astroflow-shared" ]; then
  begin solver
  bench/solver.py "$BUILD/release/examples/astroflow" "$IW_PROGRAM" "$BENCH_RESULTS"
  record_machine solver
fi
# The server's half of Figures 4 and 5, beside the client's. Freed memory is kept for the next diff,
# as the client keeps its own: what fresh pages cost is the system's, not the translation's.
if [[ "$ONLY" =~ ^(server_costs|translate|granularity)?$ ]]; then
  begin server_costs
  cargo build --release --locked --quiet -p interweave-master --example server_costs
  releases=$(mktemp -d)
  trap 'rm -rf "$releases"' EXIT
  "$BUILD/release/bench/bench_server_releases" "$releases"
  GLIBC_TUNABLES=glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=1073741824 \
    "${CARGO_TARGET_DIR:-target}/release/examples/server_costs" "$releases"
  record_machine server_costs
fi
# Durable writes of many writers, with the store of files and on PostgreSQL. SERVER=SECONDS or
# "SECONDS ROUNDS WRITERS,..." measures for so long.
if [[ "$ONLY" =~ ^(server)?$ ]]; then
  begin server
  make/python.sh nats
  cargo build --release --locked --quiet -p interweave-bench-server
  # shellcheck disable=SC2086
  NATS_SERVER="$BUILD/python/nats/bin/nats-server" \
    "${CARGO_TARGET_DIR:-target}/release/interweave-bench-server" ${SERVER:-}
  record_machine server
  make/plot.py bench/results/server.csv --x writers --series system,copies --y a_second,p99_us \
    --log xy --unit "writes a second, us" --title "Durable writes of 100 bytes"
fi
# Calls by reference beside calls by deep copy. One of the callees is a Python program.
if [[ "$ONLY" =~ ^(rpc)?$ ]]; then
  begin rpc
  make/python.sh agent
  IW_PYTHON="$BUILD/python/venv/bin/python" "$BUILD/release/bench/bench_rpc"
  for y in bytes us; do
    make/plot.py bench/results/rpc.csv --x structure_nodes --series system --y $y --log xy \
      --unit "$y a call" \
      --out "bench/results/rpc-$y.svg" --title "A tree as an argument, 1 % changed before each call"
  done
fi
# SciMark's kernels in Java, on plain and on shared objects.
if [[ "$ONLY" =~ ^(java|java_scimark)?$ ]]; then
  begin java_scimark
  make/java.sh build
  bench/scimark.py "$IW_PROGRAM" "$BENCH_RESULTS"
  record_machine java_scimark
fi
# A reader lock in Java on a copy that is recent enough, and the start of a program.
for name in java_lock java_start; do
  if [[ "$ONLY" =~ ^(java|$name)?$ ]]; then
    begin "$name"
    make/java.sh build
    "bench/$name.py" "$IW_PROGRAM" "$BENCH_RESULTS"
    record_machine "$name"
  fi
done
# What blocks take of Java's heap, and of its collections.
if [[ "$ONLY" =~ ^(java|java_memory)?$ ]]; then
  begin java_memory
  make/java.sh build
  bench/java_memory.py "$IW_PROGRAM" "$BENCH_RESULTS"
  record_machine java_memory
fi
# Translation in Java: the JVM paper's Figures 7 to 9, and the shapes of Figure 4. The rivals come
# from Maven's repository. PART=rows|shapes|partly runs a part.
if [[ "$ONLY" =~ ^(java|java_translate)?$ ]]; then
  begin java_translate
  make/java.sh build
  make/java.sh rivals
  # shellcheck disable=SC2086
  bench/java_translate.py "$IW_PROGRAM" "$BUILD/java/rivals" "$BENCH_RESULTS" ${PART:-}
  record_machine java_translate
  make/plot.py bench/results/java_rows.csv --x case --series system --y out_us,in_us --log y \
    --unit us --title "Rows of doubles into bytes (out) and back (in) (J-InterWeave, Figure 7)"
  make/plot.py bench/results/java_shapes.csv --x case --series system --y both_us --bars --log y \
    --unit us --title "Nine shapes of 1 MiB, trees and lists, out and in (Figure 4 in Java)"
  make/plot.py bench/results/java_partly.csv --x per_cent --series how --y out_us,in_us \
    --unit us --title "200,000 doubles of which some changed (J-InterWeave, Figure 8)"
  make/plot.py bench/results/java_partly.csv --x per_cent --series how --y bytes --unit bytes \
    --out bench/results/java_partly-bytes.svg \
    --title "Bytes for 200,000 doubles of which some changed (J-InterWeave, Figure 9)"
fi
# A frame of the simulation in Java: the JVM paper's Table 1.
if [[ "$ONLY" =~ ^(java|java_frame)?$ ]]; then
  begin java_frame
  make/java.sh build
  make/java.sh examples
  bench/java_frame.py "$IW_PROGRAM" "$BUILD/release/examples/astroflow" "$BUILD/java/examples" \
    "$BENCH_RESULTS"
  record_machine java_frame
fi
# From Python to Python. The rivals come from the Python package index.
if [[ "$ONLY" =~ ^(frames)?$ ]]; then
  begin frames
  make/python.sh bench frames
  record_machine frames
fi
if [[ "$ONLY" =~ ^(secure)?$ ]]; then
  begin secure
  make/python.sh bench secure
  record_machine secure
  cargo run --release --locked --quiet -p interweave-access --example decisions
  cargo run --release --locked --quiet -p interweave-server --example rights
  python3 bench/half_open.py "$IW_PROGRAM" "$BENCH_RESULTS"
fi
[ -n "$begun" ] || {
  echo "bench: '$ONLY' is not a figure here; the first lines of make/bench.sh name them" >&2
  exit 1
}
