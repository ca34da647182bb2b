#!/usr/bin/env bash
# The site of the documents: build/site. Pages, links and headings are checked; a warning fails.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${BUILD:-build}")
venv=$out/docs/venv
mkdir -p "$out/docs"
cmp -s make/docs/requirements.txt "$venv/requirements.txt" || {
  rm -rf "$venv"
  "${PYTHON:-python3}" -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r make/docs/requirements.txt
  cp make/docs/requirements.txt "$venv/requirements.txt"
}
export PYTHONPATH=$PWD/make:$PWD/make/docs PYTHONDONTWRITEBYTECODE=1 NO_MKDOCS_2_WARNING=1
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
[ -n "$version" ] || { echo "docs: Cargo.toml has no version" >&2; exit 1; }
"$venv/bin/python" make/docs/stage.py "$out/docs/pages"
javadoc -quiet -Xdoclint:none -notimestamp --module org.interweave \
  --module-source-path org.interweave=java/src/main/java -d "$out/docs/pages/reference/java"
# What differs from one build to the next: version and folders.
cat >"$out/docs/mkdocs.yml" <<END
INHERIT: $PWD/make/docs/mkdocs.yml
site_name: InterWeave $version
docs_dir: $out/docs/pages
site_dir: $out/site
END
# Not with --quiet: warnings do not count then.
"$venv/bin/mkdocs" build --strict --config-file "$out/docs/mkdocs.yml" >"$out/docs/log" 2>&1 || {
  grep -vF INFO "$out/docs/log" >&2
  exit 1
}
count=$(find "$out/site" -name "*.html" | wc -l)
echo "docs: InterWeave $version, $count pages in $out/site"
echo "docs: to read and search them: python3 -m http.server --bind 127.0.0.1 --directory $out/site"
