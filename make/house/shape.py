"""How long files and functions may be, how wide lines, and how folders are named."""

import ast
import re

DRAWERS = {"util", "utils", "common", "misc", "manager", "helpers"}
LINE_COLUMNS_MAX = 100
FILE_LINES_MAX = 800
FUNCTION_LINES_MAX = 70
BRACED = {".cc", ".h", ".hpp", ".c", ".rs", ".ts", ".java"}
SOURCES = BRACED | {".py"}
# Wide lines are counted in these; no tool breaks a table's row or the one word of a long address.
WIDE = SOURCES | {".sh", ".f90", ".md", ".x", ".cmake"}
FUNCTION_HEAD = {
    ".java": re.compile(r"^ *(?!if|for|while|switch|return|else|throw|try|new|case)[\w<>\[\], .?]+ "
                        r"\w+\([^;]*$"),
    ".rs": re.compile(r"^ *(?:pub(?:\([a-z]+\))? )?(?:async |const |unsafe )*fn \w+"),
    ".ts": re.compile(r"\bfunction \w+|^ *const \w+ = (?:async )?\(.*=>|"
                      r"^  (?!if|for|while|switch)(?:static |async |private |get |set )*\w+\("),
}
# Functions of C++ begin at the margin, methods in their class two columns in; a
# lambda has a bracket.
CPP_FUNCTION = re.compile(
    r"^(?:  )?(?! |namespace|class|struct|union|enum|extern|if|for|while|switch|do|else|try|"
    r"return|case|using|template|#|\}|//)(?:\[\[nodiscard\]\] )?[^\[=]*\(")


def check_name(path):
    for part in path.parts[:-1]:
        if part in DRAWERS:
            yield 1, f"a folder named {part} says nothing about what is in it"


def check_file(path, lines):
    if path.suffix in SOURCES and len(lines) > FILE_LINES_MAX:
        yield len(lines), f"{len(lines)} lines; at most {FILE_LINES_MAX}: one concept a file"


def wide_lines(path, lines):
    """Lines that are too wide, but for rows of tables and addresses."""
    if path.suffix not in WIDE and path.name != "CMakeLists.txt":
        return
    for number, line in enumerate(lines, 1):
        if len(line) <= LINE_COLUMNS_MAX or "http" in line:
            continue
        if path.suffix == ".md" and line.startswith("|"):
            continue
        yield number, f"{len(line)} columns; at most {LINE_COLUMNS_MAX}"


def check_functions(path, lines):
    if path.suffix == ".py":
        spans = python_functions(lines)
    elif path.suffix in BRACED:
        spans = braced_functions(path.suffix, lines)
    else:
        return
    spans = list(spans)
    for first, last in spans:
        own = last - first + 1 - lines_of_inner(spans, first, last)
        if own > FUNCTION_LINES_MAX:
            yield first, f"a function of {own} lines; at most {FUNCTION_LINES_MAX}"


def lines_of_inner(spans, first, last):
    """Lines of the functions that are defined directly inside."""
    total, reached = 0, first
    for begin, end in sorted(spans):
        if first < begin and end < last and begin > reached:
            total += end - begin + 1
            reached = end
    return total


def python_functions(lines):
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno


def braced_functions(suffix, lines):
    """First and last line of each function: formatters close it at the indentation of its head."""
    head = FUNCTION_HEAD.get(suffix, CPP_FUNCTION)
    begun = {}  # indentation -> line of a head whose body may still come
    for number, line in enumerate(without_raw_strings(lines), 1):
        indentation = len(line) - len(line.lstrip(" "))
        if head.search(line):
            begun[indentation] = number
        elif line.startswith(" " * indentation + "}") and indentation in begun:
            yield begun.pop(indentation), number
        if line.rstrip().endswith(";"):
            begun.pop(indentation, None)  # a declaration, or a function of one line


def without_raw_strings(lines):
    """The same lines, with nothing in those that a raw string of C++ spans."""
    inside = False
    for line in lines:
        if inside:
            inside = ')"' not in line
            yield ""
        else:
            inside = 'R"(' in line and ')"' not in line.split('R"(', 1)[1]
            yield line
