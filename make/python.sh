#!/usr/bin/env bash
# The Python package. Everything is made in build/python: a virtual environment, the wheel and the
# source distribution (dist/); nothing is installed elsewhere.
#
#   make/python.sh fetch   only the environment
#   make/python.sh dist    wheel and source distribution, with the client library of `make build`
#   make/python.sh test    the package, installed into the environment, under pytest
#   make/python.sh agent   the package in the environment, for the conformance agent; does nothing
#                          if it is up to date
#   make/python.sh sdist   builds and tries a wheel from the source distribution alone (minutes)
#   make/python.sh bench FIGURE   bench/FIGURE.py (frames, secure), in an environment of its own
#   make/python.sh nats           $BUILD/python/nats/bin/nats-server, a rival of the figure `server`
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath -m "${BUILD:-build}")
out="$build/python"
venv="$out/venv"
library="${IW_PYTHON_LIBRARY:-$build/release/native/abi/libinterweave.a}"
results=$(realpath -m "${RESULTS:-$build/tests/python}")
mkdir -p "$out" "$results"

# environment DIR REQUIREMENTS: made anew when the requirements have changed.
environment() {
  cmp -s "$2" "$1/requirements.txt" && return
  rm -rf "$1"
  "${PYTHON:-python3}" -m venv "$1"
  "$1/bin/pip" install --quiet --disable-pip-version-check -r "$2"
  cp "$2" "$1/requirements.txt"
}

# What the source distribution holds: the package, and the client library's sources without tests.
stage() {
  rm -rf "$out/stage"
  mkdir -p "$out/stage"
  cp -r python/CMakeLists.txt python/README.md python/pyproject.toml python/interweave python/src \
    LICENSE "$out/stage/"
  git ls-files -co --exclude-standard native | grep -v /tests/ | tar -c -T - |
    tar -x -C "$out/stage"
  find "$out/stage" -name __pycache__ -prune -exec rm -rf {} +
}

dist() {
  stage
  rm -rf "$out/dist"
  "$venv/bin/python" -m build --no-isolation --sdist --outdir "$out/dist" "$out/stage" \
    >"$out/sdist.log" 2>&1 ||
    { cat "$out/sdist.log"; return 1; }
  "$venv/bin/python" -m build --no-isolation --wheel --outdir "$out/dist" -Cbuild-dir="$out/cmake" \
    -Ccmake.define.INTERWEAVE_LIBRARY="$library" python >"$out/wheel.log" 2>&1 ||
    { cat "$out/wheel.log"; return 1; }
}

install_wheel() {
  "$1/bin/pip" install --quiet --disable-pip-version-check --no-deps \
    --force-reinstall "$out"/dist/interweave-*.whl
  [ "$1" != "$venv" ] || touch "$venv/installed"
}

# Whether the environment has the package as its sources and the client library are now.
is_installed() {
  local wheel
  wheel=$(ls "$out"/dist/interweave-*.whl 2>/dev/null) && [ "$venv/installed" -nt "$wheel" ] ||
    return 1
  [ -z "$(find python/CMakeLists.txt python/pyproject.toml python/interweave python/src "$library" \
    -name __pycache__ -prune -o -type f -newer "$wheel" -print)" ]
}

run_tests() {
  IW_TEST_SERVER="${IW_TEST_SERVER:-$PWD/target/release/interweave}" \
  IW_TEST_AGENT="${IW_TEST_AGENT:-$build/release/native/abi/test_agent}" \
  IW_TEST_EXAMPLES="${IW_TEST_EXAMPLES:-$build/release/examples}" \
    "$venv/bin/python" -B -m pytest -q -p no:cacheprovider --rootdir python \
    --junitxml "$results/pytest.xml" python/tests "$@"
}

# By one at a time: `make test` fetches while it builds.
(
  flock 9
  environment "$venv" python/requirements-test.txt
) 9>"$out/fetching"
case "${1:-dist}" in
  fetch) ;;
  dist)
    dist
    ls -1 "$out"/dist
    ;;
  test)
    dist
    install_wheel "$venv"
    run_tests
    ;;
  agent)
    is_installed && exit
    dist
    install_wheel "$venv"
    ;;
  sdist)
    dist
    rm "$out"/dist/*.whl
    "$venv/bin/pip" wheel --quiet --no-deps --no-build-isolation \
      -Ccmake.define.IW_RELEASE_FLAGS=-O1 --wheel-dir "$out/dist" "$out"/dist/interweave-*.tar.gz
    install_wheel "$venv"
    run_tests -k 'values or locks'
    ;;
  bench)
    dist
    environment "$out/bench" bench/frames-requirements.txt
    install_wheel "$out/bench"
    "$out/bench/bin/python" "bench/${2:-frames}.py" \
      "${IW_PROGRAM:-$PWD/target/release/interweave}" "${BENCH_RESULTS:-$PWD/bench/results}"
    ;;
  nats)
    environment "$out/nats" bench/server-requirements.txt
    ;;
  *)
    echo "python: '$1' is not one of fetch, dist, test, agent, sdist, bench, nats" >&2
    exit 2
    ;;
esac
