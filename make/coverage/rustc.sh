#!/bin/sh
# Cargo calls this in place of rustc for the crates of this repository (make/coverage.sh).
rustc=$1
shift
exec "$rustc" "$@" -Cinstrument-coverage
