#!/usr/bin/env bash
# The simulator (sim/README.md): the server's engine and the store in a world that breaks.
#
#   make/sim.sh            MINUTES minutes of seeds (default 2), from FROM on, JOBS at a time
#                          (default: one a core); or SEED alone, or SPACE alone, a seed of several
#                          servers on one database, or MOVES alone, one in which segments move; or
#                          TRACE=n: prints the trace of seed n, KEEPS_GRANTS=no that of a client
#                          without kept grants; or PLANTED=NAME: the seeds of spaces that find this
#                          planted defect, from FROM on
#   make/sim.sh --short    the seeds of `make test-deep`, and the planted defects
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
make/cargo_dependencies.sh restore
# The client's engine in C++, for the clients that are not models. In test-deep it is built already,
# and newer than its sources.
IW_SIM_ENGINE=$(realpath -m "$BUILD/release/native")
export IW_SIM_ENGINE
library=$IW_SIM_ENGINE/sim/libiw_sim.a
[ "${1:-}" = --short ] && [ -f "$library" ] &&
  [ -z "$(find native -name '*.[ch]*' -newer "$library" -print -quit)" ] || make/build.sh sim
workers=(--workers "$JOBS")
program=${CARGO_TARGET_DIR:-target}/release/interweave-sim
# Also for seeds: with no defect switched on, the engines are the ordinary ones. interweave-wire
# refuses planted defects in a build without debug assertions, so that no release has them. It alone
# gets these assertions here.
with_defects=(--release --locked --quiet "${cargo_members[@]}" --features interweave-sim/planted
  --config 'profile.release.package.interweave-wire.debug-assertions=true')
if [ "${1:-}" = --short ]; then
  cargo build "${with_defects[@]}" --features interweave-sim/native --bin interweave-sim
  # The same ones each time, so that a change is not blamed for what another seed finds.
  "$program" --from 1 --seeds 100 "${workers[@]}"
  "$program" --space --from 1 --seeds 100 "${workers[@]}"
  "$program" --moves --from 1 --seeds 20 "${workers[@]}"
  "$program" --moves --from 2000000001 --seeds 20 "${workers[@]}"
  # The seeds that find defects were looked for without native clients, who behave differently.
  exec cargo test "${with_defects[@]}" --test planted -- --nocapture --test-threads 1
fi
if [ -n "${PLANTED:-}" ]; then
  cargo build "${with_defects[@]}" --bin interweave-sim
  exec "$program" --space --all --no-shrink --planted "$PLANTED" --from "${FROM:-1}" \
    --minutes "${MINUTES:-2}" "${workers[@]}"
fi
cargo build --release --locked --quiet "${cargo_members[@]}" --bin interweave-sim \
  --features interweave-sim/native
if [ -n "${TRACE:-}" ]; then
  keeps=()
  [ "${KEEPS_GRANTS:-yes}" = yes ] || keeps=(--no-grants)
  exec "$program" --trace "$TRACE" "${keeps[@]}"
fi
if [ -n "${SEED:-}" ]; then
  exec "$program" --seed "$SEED"
fi
if [ -n "${SPACE:-}" ]; then
  exec "$program" --space --seed "$SPACE"
fi
if [ -n "${MOVES:-}" ]; then
  exec "$program" --moves --seed "$MOVES"
fi
# Without FROM each day has other seeds. They are below those of spaces and moves that have
# particular faults.
exec "$program" --from "${FROM:-$(date +%y%m%d000)}" --minutes "${MINUTES:-2}" "${workers[@]}"
