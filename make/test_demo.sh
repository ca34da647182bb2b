#!/usr/bin/env bash
# The main job as a new user runs it: Sod's tube, ended by FRAMES, and what the viewer's copy says.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for simulator in fortran cpp; do
  SIMULATOR=$simulator FRAMES=25 PROBLEM=sod make/demo.sh >"$work/$simulator" 2>&1 ||
    { cat "$work/$simulator"; exit 1; }
done
python3 - "$work/fortran" "$work/cpp" <<'PY'
import json, re, sys
VIEW = re.escape("/astroflow?block=density&steer=header.want_cfl:0.05:0.8,header.want_problem,header.want_pause")
TOKEN = "iw_[0-9a-f]{12}_[0-9a-f]{64}"
REFERENCE_ERROR = 0.0034  # second order, N = 256
checksums = set()
for path in sys.argv[1:]:
    text = open(path).read()
    first = text.splitlines()[0]
    assert re.fullmatch(r"demo: watch and steer it in a browser: http://127\.0\.0\.1:\d+/login#" + TOKEN + VIEW, first), first
    summaries = [json.loads(found) for found in re.findall(r"^\{.*\}$", text, re.M)]
    assert len(summaries) == 2, text
    simulator, viewer = summaries
    assert simulator["frames"] == 25, simulator
    assert viewer["checksum"] == simulator["checksum"], (viewer, simulator)
    assert 0 < viewer["mean_density_error"] <= 1.5 * REFERENCE_ERROR, viewer
    assert 0 < viewer["bytes_received"], viewer
    checksums.add(viewer["checksum"])
assert len(checksums) == 1, "the simulators differ"
print("demo: mean error of the viewer's density", viewer["mean_density_error"])
PY
