"""The page of the C interface, made of the comments and declarations of its headers."""

import pathlib
import re

INCLUDE = pathlib.Path("native/include")
SECTION = re.compile(r"^/\* ---- (.*?)(?: -+)?\s*$")
HEAD = """# C interface

The functions of `interweave.h`, in the order of the header, and the numbers of
`interweave/interface.h`. C++ programs also have `interweave.hpp`, which closes handles and releases
locks by itself and throws errors as exceptions.
"""


def page():
    header = (INCLUDE / "interweave.h").read_text(encoding="utf-8")
    about, _, rest = header.partition("#ifndef INTERWEAVE_H")
    body = rest.split('extern "C" {\n#endif\n', 1)[1].split("#ifdef __cplusplus", 1)[0]
    numbers = (INCLUDE / "interweave/interface.h").read_text(encoding="utf-8")
    return "\n".join([HEAD, "## About the library", "", prose(about), "",
                      "## Handles and pointers", "", *described(body),
                      "## Numbers", "", "```c", numbers.strip(), "```", ""])


def described(body):
    """Lines of each section; a comment stands above the declarations that it is about."""
    for part in re.split(r"\n\n(?=/\*|IW_API|typedef)", body.strip()):
        comment, declarations = split(part)
        section = SECTION.match(comment.splitlines()[0]) if comment else None
        if section:
            name = re.split(r" \(|: IW_", section.group(1))[0]
            yield from (f"## {name.rstrip('- ')}", "")
            continue
        if declarations:
            names = re.findall(r"\b(IW_\w+)\(", declarations)
            yield from ("### " + ", ".join(dict.fromkeys(f"`{name}`" for name in names)), "") \
                if names else ()
            yield from ("```c", declarations, "```", "")
        if comment:
            yield from (prose(comment), "")


def split(part):
    """The comment at the beginning, and what follows it."""
    if not part.startswith("/*"):
        return "", part
    end = part.index("*/") + 2
    return part[:end], part[end:].strip()


def prose(comment):
    """A comment's text, as Markdown: indented lines are code, names are kept from meaning more."""
    lines = []
    for line in comment.strip().removeprefix("/*").removesuffix("*/").splitlines():
        line = re.sub(r"^ \* ?", "", line.rstrip()).rstrip("*").rstrip()
        if line.startswith("- ") and lines and lines[-1] and not lines[-1].startswith(("- ", "  ")):
            lines.append("")
        is_code = line.startswith("  ") and lines and (lines[-1] == "" or lines[-1][:4] == "    ")
        lines.append("  " + line if is_code else escaped(line.strip(" ")))
    return "\n".join(lines).strip("\n")


def escaped(line):
    """The line with its characters meaning themselves, but for what stands in backquotes."""
    parts = line.split("`")
    parts[::2] = [re.sub(r"([_<>\[\]*])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)
