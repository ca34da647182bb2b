#!/usr/bin/env bash
# A Maven project outside the tree takes the artifacts of build/java/repository and nothing else of
# this project: it compiles an interface file, and its program shares with a server, without the
# agent, with it, and with stores that Maven marked. Maven works offline: it takes its own plugins
# from $FETCHED. For make/java.sh, which builds the repository.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
. make/real_server.sh
repository=$(realpath "${BUILD:-build}/java/repository")
program=${IW_TEST_SERVER:-$root/target/release/interweave}
cases=()
holds() { cases+=("ok $((${#cases[@]} + 1)) - java artifacts: $1"); }

cp -r make/outside/java "$work/sharing"
mkdir -p "$work/sharing/src/main/x"
cp examples/list/list.x "$work/sharing/src/main/x/"
# Both repositories are folders, so that nothing comes from elsewhere.
cat >"$work/settings.xml" <<XML
<settings>
  <localRepository>$work/local</localRepository>
  <profiles><profile>
    <id>folders</id>
    <repositories>
      <repository><id>central</id><url>file://$FETCHED</url></repository>
      <repository><id>interweave</id><url>file://$repository</url></repository>
    </repositories>
    <pluginRepositories>
      <pluginRepository><id>central</id><url>file://$FETCHED</url></pluginRepository>
      <pluginRepository><id>interweave</id><url>file://$repository</url></pluginRepository>
    </pluginRepositories>
  </profile></profiles>
  <activeProfiles><activeProfile>folders</activeProfile></activeProfiles>
</settings>
XML
maven() {
  mvn --batch-mode --quiet --offline -Daether.offline.protocols=file -Dstyle.color=never \
    --settings "$work/settings.xml" --file "$work/sharing/pom.xml" \
    -Dinterweave.program="$program" "$@" >"$work/maven.log" 2>&1
}
artifact() { echo "$work/local/org/interweave/$1/0.1.0/$1-0.1.0.jar"; }
run() {
  local name=$1
  shift
  timeout 60 java -XX:TieredStopAtLevel=1 "$@" \
    -cp "$work/sharing/target/classes:$(artifact interweave)" org.example.Sharing \
    "iw://$address/$name" >"$work/$name.log" 2>&1 || fail "org.example.Sharing"
  cat "$work/$name.log"
}
said() { [ "$2" = "$3" ] || fail "$1: it says '$2' instead of '$3'"; }

make/test_java_jars.py "$root" "$repository" >"$work/jars.log" 2>&1 || fail "jars"
holds "jars are the same after each build"
maven process-classes || fail "the project does not build"
holds "a project outside builds offline"
start_server "$program"
said "without the agent" "$(run plain)" "tracked=false unmarked=2 keys=2;3;"
holds "stores are found by comparison"
mkdir "$work/agent"
cp "$repository"/org/interweave/interweave-agent/0.1.0/interweave-agent-0.1.0.jar "$work/agent/"
said "with the agent" "$(run agent "-javaagent:$work/agent/interweave-agent-0.1.0.jar")" \
  "tracked=true unmarked=0 keys=2;3;"
holds "the agent marks stores"

classes=$work/sharing/target/classes
sums() { (cd "$classes" && find . -name '*.class' -print0 | sort -z | xargs -0 sha1sum); }
times() { find "$work/sharing/target/generated-sources" -name '*.java' -printf '%p %T@\n' | sort; }
before=$(sums)
generated=$(times)
maven process-classes -Pmarked || fail "the goal mark"
[ "$before" != "$(sums)" ] || fail "the goal mark changes no class"
said "the generated class" "$(sums | grep shared/node_t)" \
  "$(grep shared/node_t <<<"$before")"
said "generated files that stay the same" "$(times)" "$generated"
said "marked by Maven" "$(run marked -Dinterweave.marks=true)" "tracked=true unmarked=0 keys=2;3;"
holds "the goal mark marks stores"
once=$(sums)
maven process-classes -Pmarked || fail "the goal mark, again"
said "marked again" "$(sums)" "$once"
holds "the goal mark marks a class once"

echo 'struct broken {' >"$work/sharing/src/main/x/broken.x"
! maven process-classes || fail "a wrong interface file is not noticed"
grep -q "broken.x:2:1: error" "$work/maven.log" || fail "the compiler's text is not shown"
holds "an error of the compiler is shown with its place"
[ -z "${RESULTS:-}" ] || printf '%s\n' "${cases[@]}" >"$RESULTS/artifacts.tap"
