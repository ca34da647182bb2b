#!/usr/bin/env bash
# The Python wheels as a user meets them: `pip install FILE` into a new environment, no compiler on
# the path, and the server, the compiler of .x files and the library are there.
#
#   packaging/tests/wheel.sh DIST     the folder of the wheels; TOOLS has auditwheel
set -euo pipefail
dist=$(realpath "$1")
cd "$(dirname "$0")/../.."
tools=$(realpath -m "${BUILD:-build}")/packaging/tools/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# The shell that keeps a server with its notebook; nothing else is on the path.
mkdir "$work/path"
for program in sh cat; do ln -s "$(command -v "$program")" "$work/path/$program"; done

# pythons WHEEL: those that the wheel is for and that are here.
pythons() {
  local versions each
  case $1 in
    *-cp312-abi3-*) versions="3.12 3.13" ;;
    *-cp3??-*) versions=$(sed -E 's/.*-cp3([0-9]+)-cp.*/3.\1/' <<<"$1") ;;
    *) fail "what Python is $1 for?" ;;
  esac
  for each in $versions; do
    for python in "python$each" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$each".*/bin/python; do
      "$python" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$each')" 2>/dev/null ||
        continue
      echo "$python"
      break
    done
  done
}

# user PYTHON ARGUMENT...: without the variables of this shell. The wheel's environment is not on
# the path, so the package finds its own program.
user() { env -i PATH="$work/path" HOME="$work" "$1" -B "$PWD/packaging/tests/$2" "${@:3}"; }

# try WHEEL PYTHON VENV
try() {
  "$2" -m venv "$3"
  "$3/bin/pip" install --quiet --disable-pip-version-check "$1"
  user "$3/bin/python" wheel_user.py || fail "$1 with $2"
  [ "$(env -i PATH="$3/bin" interweave --version)" = "interweave $version" ] ||
    fail "the program is not on the path of the environment"
  ! grep -q '\.debug_info' <<<"$(readelf -SW "$3/bin/interweave")" ||
    fail "the program is not stripped"
  # Another program of this name on the path is not taken.
  printf '#!/bin/sh\nexit 9\n' >"$work/path/interweave"
  chmod +x "$work/path/interweave"
  user "$3/bin/python" wheel_user.py ||
    fail "the program on the path was taken, not the wheel's"
  rm "$work/path/interweave"
  "$3/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$1"
  echo "wheel: $(basename "$1") works with $("$2" --version)"
}

# The server is the first environment's; each of them puts its version in front of the list.
share_a_list() {
  local address each said wanted=
  mkfifo "$work/held" "$work/ready"
  user "${venvs[0]}/bin/python" wheel_others.py serve <"$work/held" >"$work/ready" &
  local server=$!
  exec 3>"$work/held"
  read -r address <"$work/ready" || fail "the server did not start"
  for each in "${venvs[@]}"; do
    wanted="${each##*-} $wanted"
    said=$(user "$each/bin/python" wheel_others.py append "$address") ||
      fail "Python ${each##*-} with the server of ${venvs[0]##*-}"
    [ "$said" = "$wanted" ] || fail "Python ${each##*-} sees '$said', not '$wanted'"
  done
  exec 3>&-
  wait "$server" || fail "the server did not end with its standard input"
  echo "wheel: Python $(echo "${venvs[@]##*-}") share a list"
}

version=$(sed -n 's/^version = "\(.*\)"/\1/p' python/pyproject.toml)
venvs=()
for wheel in "$dist"/interweave-"$version"-*.whl; do
  "$tools/auditwheel" show "$wheel" >"$work/shown" 2>&1 || fail "auditwheel refuses $wheel"
  # It says what the files need, in lines of any width.
  grep -qE 'constrains the platform tag to "manylinux_2_(1[0-9]|2[0-8])_x86_64"' \
    <<<"$(tr '\n' ' ' <"$work/shown")" ||
    fail "$wheel needs a newer system: $(cat "$work/shown")"
  names=$(python3 -m zipfile -l "$wheel")
  for licence in LICENSE LICENSES-third-party.txt; do
    grep -q "dist-info/.*$licence " <<<"$names" || fail "$wheel lacks $licence"
  done
  for python in $(pythons "$wheel"); do
    venv=$work/venv-$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    try "$wheel" "$python" "$venv"
    venvs+=("$venv")
  done
done
[ "${#venvs[@]}" -gt 0 ] || fail "no wheel in $dist could be tried"
share_a_list
for venv in "${venvs[@]}"; do
  "$venv/bin/pip" uninstall --quiet --yes interweave
  [ -z "$(find "$venv" -name '*interweave*')" ] || fail "pip leaves something behind in $venv"
done
