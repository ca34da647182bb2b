#!/usr/bin/env bash
# Runs the benchmarks and writes bench/results/*.csv. ONLY=update|frame|read_lock|memory|readers|blocks|
# granularity|translate for one.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake -S . -B "$BUILD/release" -DIW_BENCH=ON >/dev/null
cmake --build "$BUILD/release" --parallel "${JOBS:-2}" -- --quiet
export IW_PROGRAM="$PWD/target/release/interweave"
export BENCH_RESULTS="$PWD/bench/results"
for name in update frame read_lock memory readers blocks granularity translate; do
  if [ -n "$ONLY" ] && [ "$ONLY" != "$name" ]; then continue; fi
  echo "== $name"
  "$BUILD/release/bench/bench_$name"
  case $name in
    granularity)
      make/plot.py bench/results/granularity.csv --x ratio --series operation --y us --log xy --unit us \
        --title "One word in x of a 1 MiB int array changed (ICDCS'03, Figure 5)" ;;
    translate)
      make/plot.py bench/results/translate.csv --x shape --series system,operation --y us --bars --log y \
        --unit "us per MiB" --title "Translation of 1 MiB, all of it changed (ICDCS'03, Figure 4)" ;;
  esac
done
