#!/usr/bin/env bash
# The recipes of Spack and conda, with the sum of the source archive that they build:
# $BUILD/packaging/dist/interweave-VERSION-recipes.tar.gz, after packaging/source.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
BUILD=$(realpath -m "${BUILD:-build}")
dist=$BUILD/packaging/dist
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
name=interweave-$version-recipes
out=$BUILD/packaging/recipes
sources=interweave-$version-source.tar.gz
sum=$(sha256sum "$dist/$sources" | cut -d' ' -f1)
rm -rf "$out"
mkdir -p "$out/$name/spack" "$out/$name/conda"
sed "s/sha256=\"0\" \* 64/sha256=\"$sum\"/" packaging/spack/package.py \
  >"$out/$name/spack/package.py"
# In the tree, conda builds the tree.
sed "s|^  path: \.\./\.\.\$|  url: file:///path/to/$sources\n  sha256: $sum|" \
  packaging/conda/meta.yaml >"$out/$name/conda/meta.yaml"
install -m 755 packaging/conda/build.sh "$out/$name/conda/"
for recipe in spack/package.py conda/meta.yaml; do
  grep -q "$sum" "$out/$name/$recipe" || {
    echo "recipes: $recipe does not name the sum of $sources" >&2
    exit 1
  }
done
tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime=@0 \
  -cf - "$name" | gzip --best --no-name >"$dist/$name.tar.gz"
echo "$dist/$name.tar.gz"
