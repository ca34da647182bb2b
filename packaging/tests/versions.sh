#!/usr/bin/env bash
# Every place that names the version of programs, libraries and packages names the same one.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
status=0

# says FILE PATTERN: the file has the pattern, in which @ stands for the version.
says() {
  grep -qE -e "${2//@/${version//./\\.}}" "$1" && return
  echo "FAILED: $1 does not name the version $version of Cargo.toml" >&2
  status=1
}
says CMakeLists.txt 'project\(interweave VERSION @ '
says native/abi/CMakeLists.txt 'OUTPUT_NAME interweave VERSION @ SOVERSION'
says native/abi/CMakeLists.txt '^  VERSION @ COMPATIBILITY'
says native/abi/interweave.pc.in '^Version: @$'
says fortran/interweave_fortran.pc '^Version: @$'
says python/pyproject.toml '^version = "@"$'
says web/package.json '^  "version": "@",$'
says web/package-lock.json '^  "version": "@",$'
says web/README.md 'npm install ./interweave-@\.tgz'
says java/parent/pom.xml '^  <version>@</version>$'
says packaging/debian/changelog '^interweave \(@\)'
says packaging/debian/rules 'libinterweave\.so\.@ '
says packaging/spack/package.py 'version\("@"'
says packaging/conda/meta.yaml 'set version = "@"'
says docs/deployment.md 'interweave-@-container-x86_64\.tar\.gz'
says docs/versions.md '^\| programs, libraries, packages \| @ \|'
says CHANGELOG.md "^## .*@"
[ "$status" != 0 ] || echo "versions: $version everywhere"
exit "$status"
