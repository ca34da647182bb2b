#!/usr/bin/env bash
# Fetches what the tests take from the registries of npm, Python and Maven, while the compilers
# work.
set -euo pipefail
cd "$(dirname "$0")/.."
make/web.sh fetch
make/python.sh fetch
make/java.sh fetch
