#!/usr/bin/env bash
# The npm package, installed into an empty folder by the line of its README: plain Node opens a
# segment of a server.
#
#   packaging/tests/npm.sh PROGRAM TARBALL     PROGRAM is `interweave`
set -euo pipefail
program=$(realpath "$1")
tarball=$(realpath "$2")
cd "$(dirname "$0")/../.."
. make/real_server.sh
root=$PWD
grep -qF "npm install ./$(basename "$tarball")" web/README.md ||
  fail "web/README.md does not say how to install $(basename "$tarball")"
names=$(tar -tf "$tarball")
for name in package.json README.md LICENSE dist/index.js dist/index.d.ts dist/node.js; do
  grep -qx "package/$name" <<<"$names" || fail "the package lacks $name"
done
! tar -xOf "$tarball" package/README.md | grep 'npm run' ||
  fail "the package's page names commands that it does not have"
! grep -E 'node_modules|test|viewer|\.map$' <<<"$names" || fail "the package has what it needs not"

mkdir "$work/empty"
cd "$work/empty"
cp "$tarball" .
npm install --offline --silent --no-audit --no-fund --cache "$work/cache" \
  "./$(basename "$tarball")" >"$work/install.log" 2>&1 || fail "npm does not install it"
[ "$(ls node_modules)" = interweave ] || fail "it brought more along: $(ls node_modules)"
start_server "$program"
cat >program.mjs <<'END'
import { connect, t } from "interweave";
const client = await connect(process.argv[2]);
const segment = await client.open("/of-npm");
const point = t.record("point", { x: t.double });
await segment.write(() => { segment.allocate(point, { name: "origin" }).value.x = 4.5; });
await segment.read(() => console.log(segment.get("origin").x));
await client.close();
END
said=$(node program.mjs "iw://$address" 2>"$work/node.log") ||
  fail "the program ended with an error"
[ "$said" = 4.5 ] || fail "the program said '$said'"
"$program" get "$address/of-npm#origin" >"$work/get.log" || fail "the segment is not there"
grep -q 4.5 "$work/get.log" || fail "the server has another value"

# The types, as a program in TypeScript sees them.
echo 'import { connect } from "interweave"; const n: number = connect; void n;' >wrong.ts
! "$root/web/node_modules/.bin/tsc" --noEmit --strict --module nodenext --skipLibCheck wrong.ts \
  >"$work/types.log" 2>&1 || fail "the package's types are not seen"
grep -q "TS2322" "$work/types.log" || fail "the package's types are not found"
echo "npm: the package works in an empty folder"
