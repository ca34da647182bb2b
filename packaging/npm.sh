#!/usr/bin/env bash
# The npm package of the TypeScript client: $BUILD/packaging/dist/interweave-VERSION.tgz.
set -euo pipefail
cd "$(dirname "$0")/.."
BUILD=$(realpath -m "${BUILD:-build}")
out=$BUILD/packaging/npm
dist=$BUILD/packaging/dist
rm -rf "$out"
mkdir -p "$out" "$dist"
make/web.sh fetch
web/node_modules/.bin/tsc -p web/tsconfig.json --outDir "$out/dist"
cp LICENSE "$out/"
# The last table is of commands in the tree.
sed '/^| command | what it does |$/,$d' web/README.md >"$out/README.md"
# Tools and their commands, which the tree's own folder alone needs.
node -e '
const all = JSON.parse(require("fs").readFileSync("web/package.json"));
delete all.devDependencies;
delete all.scripts;
console.log(JSON.stringify(all, null, 2));' >"$out/package.json"
rm -f "$dist"/interweave-*.tgz
npm pack --silent --pack-destination "$dist" "$out"
