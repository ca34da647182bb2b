"""What type checkers are told is so."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import interweave
from interweave import _core

PACKAGE = Path(interweave.__file__).parent


def mypy(*arguments, cwd):
    command = [
        sys.executable, "-m", "mypy", "--strict", "--cache-dir",
        str(cwd / "cache"), *arguments
    ]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    return done.stdout


def test_the_package_is_typed_throughout(tmp_path):
    assert (PACKAGE / "py.typed").exists()
    assert "Success" in mypy("-p", "interweave", cwd=tmp_path)


def test_a_program_is_checked(tmp_path):
    (tmp_path / "program.py").write_text("""
from typing import Literal
import interweave

@interweave.struct
class Node:
    key: interweave.Int
    name: interweave.Text
    weights: interweave.Array[interweave.Double, Literal[4]]
    next: interweave.Pointer["Node"]

with interweave.open("x", timeout=3) as segment, segment.read(coherence=interweave.Temporal(0.2)):
    head: Node = segment["head"]
    length: int = head.key + len(head.weights)
    if head.next is not None:
        head.next.name = "next"
    newest: int = segment.stats.newest_known
    head.key = "words"        # wrong
    head.next.key             # wrong: may be None
    segment.read(timeout="")  # wrong

class Plain:
    key: interweave.Int

# mypy knows a class without its decorators; pyright knows what they return.
struct: type[Plain] = interweave.struct(Plain)
renamed: type[Plain] = interweave.struct(name="plain_t")(Plain)
number: int = interweave.struct(Plain)                # wrong
number = interweave.struct(name="plain_t")(Plain)     # wrong
""")
    said = mypy("program.py", cwd=tmp_path)
    lines = sorted({int(line) for line in re.findall(r"program.py:(\d+): error", said)})
    assert lines == [18, 19, 20, 28, 29], said


def parameters(given):
    """Their names, as nanobind keeps them."""
    function = ast.parse(given.__nb_signature__[0][0] + ": ...").body[0]
    return [one.arg for one in function.args.args]


def test_the_stub_is_that_of_the_extension():
    tree = ast.parse((PACKAGE / "_core.pyi").read_text())
    described = set()
    for node in tree.body:
        members = node.body if isinstance(node, ast.ClassDef) else [node]
        owner = getattr(_core, node.name) if isinstance(node, ast.ClassDef) else _core
        for member in members:
            if not isinstance(member, ast.FunctionDef):
                continue
            found = getattr(owner, member.name)
            described.add((getattr(owner, "__name__", ""), member.name))
            if hasattr(found, "__nb_signature__"):
                assert parameters(found) == [one.arg for one in member.args.args], member.name
    for owner in (_core, _core.Segment, _core.Place, _core.Memory):
        public = {name for name in vars(owner) if not name.startswith("_")}
        public -= {"Segment", "Place", "Memory"}
        assert public <= {name for of, name in described if of == owner.__name__}, owner


def test_lengths_are_plain_numbers_with_the_plugin(tmp_path):
    (tmp_path / "mypy.ini").write_text("[mypy]\nplugins = interweave.mypy_plugin\n")
    (tmp_path / "program.py").write_text("""
import interweave

@interweave.struct
class Body:
    name: interweave.String[15]
    position: interweave.Array[interweave.Double, 3]
    grid: interweave.Array[interweave.Double, 4, 5]
    marks: interweave.Sequence[interweave.Int, 8]

with interweave.open("x") as segment, segment.write():
    body = segment.new(Body, name="earth")
    text: str = body.name
    number: int = len(body.grid) + len(body.marks)
    body.name = 5             # wrong
    body.mass                 # wrong
    segment.put("x", 1, replace=3)  # wrong
""")
    said = mypy("program.py", cwd=tmp_path)
    lines = sorted({int(line) for line in re.findall(r"program.py:(\d+): error", said)})
    assert lines == [15, 16, 17], said
