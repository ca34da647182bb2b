#!/usr/bin/env bash
# Formats every source file in place.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo fmt --all
cargo fmt --manifest-path make/mutants/rust/Cargo.toml
git ls-files '*.cc' '*.h' '*.hpp' '*.c' | grep -v '\.gen\.' | xargs clang-format -i
