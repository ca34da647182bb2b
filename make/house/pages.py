"""Pages that must be complete, and links that must lead somewhere.

docs/troubleshooting.md has a heading for each error code of the protocol, with the same name and in
the same order.
"""

import pathlib
import re

CODES = pathlib.Path("spec/protocol/error.x")
TROUBLESHOOTING = pathlib.Path("docs/troubleshooting.md")
ENUM = re.compile(r"^enum error_code \{(.*?)^\};", re.S | re.M)
CODE = re.compile(r"^  ([A-Z_]+) = \d+", re.M)
HEADING = re.compile(r"^(#+) +(.*?) *$")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


def check(paths):
    """Yields (path, line number, text) of each breach."""
    if CODES in paths and TROUBLESHOOTING in paths:
        codes = codes_of(CODES.read_text(encoding="utf-8"))
        yield from check_codes(codes, TROUBLESHOOTING.read_text(encoding="utf-8").splitlines())
    pages = {path for path in paths if path.suffix == ".md"}
    yield from check_links(pages)


def codes_of(specification):
    found = CODE.findall(ENUM.search(specification).group(1))
    return [code for code in found if code != "OK"]


def headings(lines):
    """(line number, level, text) of each heading outside of code."""
    in_code = False
    for number, line in enumerate(lines, 1):
        in_code ^= line.startswith("```")
        heading = HEADING.match(line)
        if heading and not in_code:
            yield number, len(heading.group(1)), heading.group(2)


def check_codes(codes, lines):
    """The codes against the headings below `## Error codes`."""
    section, described = "", {}
    for number, level, text in headings(lines):
        if level == 2:
            section = text
        elif section == "Error codes":
            described[text] = number
    for code in codes:
        if code not in described:
            yield TROUBLESHOOTING, 1, f"the error code {code} has no heading"
    for name, number in described.items():
        if name not in codes:
            yield TROUBLESHOOTING, number, f"{name} is not an error code of {CODES}"
    common = [name for name in described if name in codes]
    for name, wanted in zip(common, [code for code in codes if code in described]):
        if name != wanted:
            yield TROUBLESHOOTING, described[name], f"{name} is here, where {wanted} must be"
            break


def anchor(heading, _separator="-"):
    """What a heading is called in addresses. The site calls this, too, so that links to headings
    lead to the same place in the repository and in the site."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def check_links(pages):
    """Links of a page to a file that is not there, or to a heading that no page has."""
    texts = {page: page.read_text(encoding="utf-8").splitlines() for page in pages}
    anchors = {page: {anchor(text) for _, _, text in headings(lines)}
               for page, lines in texts.items()}
    for page, lines in sorted(texts.items()):
        for number, target in links(lines):
            path, _, name = target.partition("#")
            aim = normal(page.parent / path) if path else page
            if not aim.exists():
                yield page, number, f"a link to {target}, which is not there"
            elif name and aim in anchors and name not in anchors[aim]:
                yield page, number, f"a link to {target}: {aim} has no such heading"


def links(lines):
    """(line number, target) of each link to a file or heading of the repository. A link may begin
    in the line before."""
    text = "\n".join(lines)
    text = re.sub(r"^```.*?^```", lambda code: re.sub(r"[^\n]", " ", code.group()), text,
                  flags=re.S | re.M)
    for link in LINK.finditer(text):
        target = link.group(1) or link.group(2)
        if not re.match(r"[a-z]+:", target):
            yield text.count("\n", 0, link.start()) + 1, target


def normal(path):
    """The path without `..`."""
    parts = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return pathlib.Path(*parts)
