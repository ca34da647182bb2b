#!/usr/bin/env bash
# "Ten minutes" of docs/java.md as the reader follows it: its files are saved, its project is
# built in an empty folder, and its programs in Java, C and Fortran print one list. For
# make/java.sh, which builds the repository. Maven works offline: it takes its own plugins from
# $FETCHED.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
. make/real_server.sh
build=$(realpath "${BUILD:-build}")
program=${IW_TEST_SERVER:-$root/target/release/interweave}
start_server "$program"
guide=$work/guide
mkdir -p "$guide/src/main/x" "$guide/src/main/java/todo"
for file in src/main/x/list.x pom.xml src/main/java/todo/Todo.java walk.c walk.f90; do
  awk -v end="file=$file" '/^```/ { inside = $2 == end; next } inside' docs/java.md |
    sed "s#127.0.0.1\(:7747\)\?/list#$address/list#" >"$guide/$file"
  [ -s "$guide/$file" ] || fail "docs/java.md has no $file"
done
cat >"$work/settings.xml" <<XML
<settings>
  <localRepository>$work/local</localRepository>
  <mirrors>
    <mirror><id>folder</id><mirrorOf>central</mirrorOf><url>file://$FETCHED</url></mirror>
  </mirrors>
</settings>
XML
mvn --batch-mode --quiet --offline -Daether.offline.protocols=file -Dstyle.color=never \
  --settings "$work/settings.xml" --file "$guide/pom.xml" -Dinterweave.program="$program" \
  -Dinterweave.repository="file://$build/java/repository" compile >"$work/maven.log" 2>&1 ||
  fail "the project of docs/java.md does not build"
jar=$build/java/repository/org/interweave/interweave/0.1.0/interweave-0.1.0.jar
lengthen() {
  timeout 60 java -XX:TieredStopAtLevel=1 -cp "$guide/target/classes:$jar" todo.Todo \
    >"$work/todo.log" 2>&1 || fail "todo.Todo"
}
lengthen
lengthen
[ "$(cat "$work/todo.log")" = $'2\n1' ] || fail "todo.Todo does not print the list"
"$program" compile "$guide/src/main/x/list.x" --lang c --out "$guide"
gcc -std=c99 -I"$guide" -Inative/include "$guide/walk.c" "$guide/list.c" \
  "$build/release/native/abi/libinterweave.so" -Wl,-rpath,"$build/release/native/abi" \
  -o "$guide/walk"
[ "$(timeout 60 "$guide/walk")" = $'2\n1' ] || fail "walk.c does not print the list"
"$program" compile "$guide/src/main/x/list.x" --lang fortran --out "$guide/types"
gcc -Inative/include -c "$guide/types/list.c" -o "$guide/list_types.o"
gfortran -I"$build/release/fortran/modules" -J"$guide" "$guide/types/list.f90" "$guide/walk.f90" \
  "$guide/list_types.o" "$build/release/fortran/libinterweave_fortran.a" \
  "$build/release/native/abi/libinterweave.so" -Wl,-rpath,"$build/release/native/abi" \
  -o "$guide/walk_fortran"
[ "$(timeout 60 "$guide/walk_fortran")" = $'2\n1' ] ||
  fail "walk.f90 does not print the list"
[ -z "${RESULTS:-}" ] ||
  echo "ok 1 - java guide: a list of Java, C and Fortran" >"$RESULTS/guide.tap"
