"""Copies the pages of the repository, as they lie there, to the folder that the site is built from.

  stage.py FOLDER

A link to a page that is copied stays as it is. A link to another file copies that file. A link to a
folder leads to its README.md, or becomes plain text. The Markdown is changed into the dialect of
the site. The references are made here, too.
"""

import pathlib
import re
import shutil
import subprocess
import sys

import c_reference
from house import pages

# ```python file=NAME, ```sh TERMINAL (make/test_tutorial.py)
FENCE = re.compile(r"^```(\w+) +(?:file=(\S+)|(\w+))$")
ITEM = re.compile(r"- |\d+\. ")
PYTHON = """# Python interface

`import interweave`. The [guide](../docs/python.md) explains these with examples. Each error is
described in [troubleshooting](../docs/troubleshooting.md#error-codes).

::: interweave
"""


def tracked():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], check=True,
                            capture_output=True, text=True)
    return {pathlib.Path(name) for name in listed.stdout.splitlines()}


def without_folders(page, text):
    """The page's text, with links to folders changed."""

    def change(link):
        target = link.group(2)
        aim = pages.normal(page.parent / target)
        if re.match(r"[a-z]+:|#", target) or not aim.is_dir():
            return link.group(0)
        if (aim / "README.md").is_file():
            return f"{link.group(1)}({target.rstrip('/')}/README.md)"
        return link.group(1)[1:-1]

    return re.sub(r"(?<!!)(\[[^\]]*\])\(([^)\s]+)\)", change, text)


def in_the_dialect(text):
    """The text in the Markdown of the site: an empty line before a list, titles of code, and two
    names in brackets that are no link."""
    lines, in_code = [], False
    for line in text.splitlines():
        fence = FENCE.match(line)
        if fence:
            line = f'```{fence.group(1)} title="{fence.group(2) or "terminal: " + fence.group(3)}"'
        in_code ^= line.startswith("```")
        if not in_code:
            line = re.sub(r"(\] ?)\[(?=[A-Z])", r"\1\\[", line)
            follows_prose = lines and re.match(r"[^\s\-|]", lines[-1]) and not ITEM.match(lines[-1])
            if follows_prose and ITEM.match(line):
                lines.append("")
        lines.append(line)
    return "\n".join(lines) + "\n"


def linked_files(page, text):
    for _, target in pages.links(text.splitlines()):
        aim = pages.normal(page.parent / target.partition("#")[0])
        if aim.is_file() and aim.suffix != ".md":
            yield aim


def main():
    out = pathlib.Path(sys.argv[1])
    shutil.rmtree(out, ignore_errors=True)
    for page in sorted(path for path in tracked() if path.suffix == ".md" and path.is_file()):
        text = in_the_dialect(without_folders(page, page.read_text(encoding="utf-8")))
        for file in linked_files(page, text):
            (out / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, out / file)
        (out / page).parent.mkdir(parents=True, exist_ok=True)
        (out / page).write_text(text, encoding="utf-8")
    shutil.copy("make/docs/site.css", out)
    reference = out / "reference"
    reference.mkdir()
    (reference / "python.md").write_text(PYTHON, encoding="utf-8")
    (reference / "c.md").write_text(c_reference.page(), encoding="utf-8")


if __name__ == "__main__":
    main()
