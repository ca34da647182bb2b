#!/usr/bin/env bash
# Checks that a reviewer should not have to make: import edges, sizes, formatting, lints, stale
# generated code.
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
echo "tidy: house rules"
python3 make/house_rules.py
(cd make && python3 -m unittest -q house.house_test)
(cd make/mutants && python3 -m unittest -q changes_test left_out_test native_test patience_test)
echo "tidy: formatting"
cargo fmt --all --check
cargo fmt --manifest-path make/mutants/rust/Cargo.toml --check
git ls-files '*.cc' '*.h' '*.hpp' '*.c' | grep -v '\.gen\.' | xargs clang-format --dry-run --Werror
echo "tidy: lints"
# With the simulator's features, which bring code and leave out nearly none. Nothing is linked.
IW_SIM_ENGINE=unused cargo clippy --release --quiet --locked --workspace --all-targets \
  --features interweave-sim/native,interweave-sim/planted \
  --config 'profile.release.package.interweave-wire.debug-assertions=true' -- \
  -D clippy::correctness -D clippy::suspicious
echo "tidy: the lock file of the fuzz programs"
host=$(rustc -vV | sed -n 's/^host: //p')
cargo metadata --quiet --locked --format-version 1 --filter-platform "$host" \
  --manifest-path fuzz/server/programs/Cargo.toml >/dev/null
echo "tidy: generated code"
before=$(make/generate.sh files | git hash-object --stdin-paths)
make/generate.sh
after=$(make/generate.sh files | git hash-object --stdin-paths)
[ "$before" = "$after" ] || {
  echo "tidy: generated files were stale; they are regenerated now: commit them" >&2
  exit 1
}
