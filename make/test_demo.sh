#!/usr/bin/env bash
# The main job as a new user runs it: Sod's tube, ended by FRAMES, and what the viewer's copy says.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
FRAMES=25 PROBLEM=sod make/demo.sh >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
python3 - "$work/out" <<'PY'
import json, re, sys
text = open(sys.argv[1]).read()
summaries = [json.loads(found) for found in re.findall(r"^\{.*\}$", text, re.M)]
assert len(summaries) == 2, text
simulator, viewer = summaries
REFERENCE_ERROR = 0.0034  # second order, N = 256
assert simulator["frames"] == 25, simulator
assert viewer["checksum"] == simulator["checksum"], (viewer, simulator)
assert 0 < viewer["mean_density_error"] <= 1.5 * REFERENCE_ERROR, viewer
assert 0 < viewer["bytes_received"], viewer
print("demo: mean error of the viewer's density", viewer["mean_density_error"])
PY
