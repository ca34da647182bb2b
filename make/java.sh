#!/usr/bin/env bash
# The Java client.
#
#   make/java.sh build    jar, sources and javadoc, in the Maven repository $BUILD/java/repository
#   make/java.sh test     runs the tests
#   make/java.sh fuzz     gives each decoder some of INPUTS inputs (default 20,000,000)
#   make/java.sh agent    the conformance agent, in $BUILD/java/agent
#   make/java.sh fetch    only what pom.xml names: plugins and JUnit
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
BUILD=$(realpath -m "$BUILD")
if [ "$IW_CACHE" = none ]; then fetched=$BUILD/java/fetched; else fetched=$IW_CACHE/maven; fi
maven() {
  local build=$1
  shift
  mvn --batch-mode --quiet --file java/pom.xml -Dstyle.color=never \
    -Dmaven.repo.local="$fetched" -Dinterweave.build="$build" "$@"
}
# Leaves nothing of this project in the fetched repository, which other clones share.
install_into() {
  local build=$1 jar
  shift
  maven "$build" "$@" package
  jar=$(ls "$build"/interweave-*[0-9].jar)
  maven "$build" "$@" install:install-file -DlocalRepositoryPath="$build/repository" \
    -Dfile="$jar" -Dsources="${jar%.jar}-sources.jar" -Djavadoc="${jar%.jar}-javadoc.jar" \
    -DpomFile="$PWD/java/pom.xml"
}
# Nothing when it is there. Fetched by one at a time. Only a whole build with a test in it asks for
# everything; dependency:go-offline leaves some out.
fetch() {
  local mark
  mark=$fetched/fetched-$(git hash-object java/pom.xml)
  mkdir -p "$fetched"
  (
    flock 9
    [ ! -e "$mark" ] || exit 0
    trial=$(mktemp -d)
    trap 'rm -rf "$trial"' EXIT
    install_into "$trial" -Dtest=BoundsTest
    touch "$mark"
  ) 9>"$fetched/fetching"
}
case "${1:-build}" in
  fetch) fetch ;;
  build)
    fetch
    install_into "$BUILD/java" --offline -DskipTests
    ;;
  fuzz)
    fetch
    maven "$BUILD/java" --offline -Dtest=FuzzTest \
      -Dsurefire.failIfNoSpecifiedTests=false -Dinterweave.fuzz="${INPUTS:-20000000}" test
    ;;
  agent)
    # Without Maven, because it needs nothing but the sources. Unchanged sources are not compiled.
    sources=$(find java/src/main/java java/conformance -name '*.java' ! -name module-info.java)
    sources+=" $(echo java/src/test/java/org/interweave/vectors/{Json,Shown}.java)"
    mark=$BUILD/java/agent/made-$(cat $sources | git hash-object --stdin)
    [ ! -e "$mark" ] || exit 0
    rm -rf "$BUILD/java/agent"
    javac -Xlint:all -Werror -XDstringConcat=inline -d "$BUILD/java/agent" $sources
    touch "$mark"
    ;;
  test)
    fetch
    results=$(realpath -m "${RESULTS:-$BUILD/tests/java}")
    mkdir -p "$results"
    maven "$BUILD/java" --offline -Dinterweave.results="$results" test
    ;;
  *) echo "java: '$1' is not one of build, test, fuzz, agent, fetch" >&2; exit 2 ;;
esac
