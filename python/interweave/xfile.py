"""Types of an .x file, for Python, taken from the output of `interweave compile`.

The compiler's C output holds the file's type tables (interweave/type_table.h) in a fixed form: one
initialiser for each type, the same for every machine. Python reads the tables from that text, so
that only one compiler knows XDR. The text leaves sizes and offsets to C, so the library computes
them.
"""

from __future__ import annotations

import enum
import os
import re
import shutil
import subprocess
import tempfile
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict, List, Match, Optional, Tuple, Union as Either

from .declare import (PRIMITIVES, Declared, Derived, Enum, FixedString, Record, Scope, Text,
                      UnionType, _declared, _pending, settle)
from .errors import Malformed
from .layouts import struct_class

# static const IW_field_def iw_fields_node[] = { ... }; const
# IW_type_def IW_def_node = IW_RECORD_DEF(...);
_OBJECT = re.compile(r"const (IW_\w+|int32_t) (\w+)(?:\[\])?\s*=\s*(.*?);\s*\n(?=\S|\s*$)", re.S)
_INITIALISER = re.compile(r"IW_(\w+)_DEF\((.*)\)", re.S)
_BRACED = re.compile(r"\{((?:[^{}\"]|\"[^\"]*\")*)\}")
_PARTS = re.compile(r"\"[^\"]*\"|(?:[^,()\"]|\([^()]*\))+")


def compiler(program: Optional[str] = None) -> str:
    """The `interweave` program: the given one, else the environment's IW_PROGRAM, else the one that
    was installed with this package, else the one on PATH."""
    found = (program or os.environ.get("IW_PROGRAM") or _installed_program() or
             shutil.which("interweave"))
    if not found:
        raise FileNotFoundError("the interweave program, which compiles .x files, is neither "
                                "given, nor in IW_PROGRAM, nor in this package, nor on the path")
    return found


def _installed_program() -> Optional[str]:
    """The program of this package's wheel. A virtual environment has it in its Python's folder, and
    the folder need not be on PATH. A wheel that was built without the program has none."""
    try:
        files = metadata.files("interweave") or []
    except metadata.PackageNotFoundError:
        return None
    programs = (str(file.locate()) for file in files if file.name == "interweave")
    return next((path for path in programs if os.access(path, os.X_OK) and os.path.isfile(path)),
                None)


def load_types(file: Either[str, Path], *, program: Optional[str] = None,
               include: Tuple[str, ...] = ()) -> Any:
    """Returns the types of an .x file as attributes. Structs and enums are classes, other types are
    type expressions. Thrown: ValueError with the compiler's text for a mistake in the file."""
    source = Path(file)
    with tempfile.TemporaryDirectory() as out:
        command = [compiler(program), "compile", str(source), "--lang", "c", "--out", out]
        for one in include:
            command += ["-I", one]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise ValueError(done.stderr.strip())
        tables = (Path(out) / f"{source.stem}.c").read_text(encoding="utf-8")
    return SimpleNamespace(**_Reader(tables).declare())


def _parts(text: str) -> List[str]:
    return [one.strip() for one in _PARTS.findall(text) if one.strip()]


class _Reader:
    """One file's tables."""

    def __init__(self, text: str) -> None:
        self.objects: Dict[str, Tuple[str, str]] = {
            name: (kind, body) for kind, name, body in _OBJECT.findall(text)}
        self.made: Dict[str, Declared] = {
            f"IW_def_{name.lower()}": primitive for name, primitive in PRIMITIVES.items()}
        self.scope = Scope({})
        self.classes: Dict[str, Any] = {}

    def declare(self) -> Dict[str, Any]:
        named = {name: body for name, (kind, body) in self.objects.items() if kind == "IW_type_def"}
        for name in named:
            self.type(f"&{name}")
        settle()
        public = {name[len("IW_def_"):]: self.classes.get(name, self.made[name])
                  for name in named if name.startswith("IW_def_")}
        # A typedef of another type: const IW_type_t IW_x = &IW_def_y.
        for name, (kind, body) in self.objects.items():
            if kind == "IW_type_t" and name.startswith("IW_") and body.startswith("&"):
                target = body[1:].strip()
                made = self.classes.get(target, self.made.get(target))
                public.setdefault(name[len("IW_"):], made)
        return public

    def rows(self, name: str) -> List[List[str]]:
        return [_parts(one) for one in _BRACED.findall(self.objects[name][1][1:-1])]

    def type(self, reference: str) -> Any:
        if reference == "NULL":
            return None
        name = reference[1:]
        if name not in self.made:
            found = self.objects.get(name)
            match = _INITIALISER.fullmatch(found[1].strip()) if found else None
            if match is None:
                raise Malformed(f"the compiler's output says nothing of {name} [MALFORMED]")
            self._make(name, match)
        return self.made[name]

    def _make(self, name: str, match: Match[str]) -> None:
        kind, parts = match.group(1), _parts(match.group(2))
        called = parts[0].strip('"')
        if kind == "ENUM":
            self._enum(name, called, parts[1])
        elif kind == "RECORD":
            self._record(name, called, parts[3])
        elif kind == "UNION":
            self._union(name, called, parts)
        elif kind == "STRING":
            self.made[name] = FixedString(_number(parts[1]), called)
        elif kind == "TEXT":
            self.made[name] = Text(_number(parts[1]), called)
        elif kind == "ARRAY":
            self.made[name] = Derived("array", self.type(parts[3]), _number(parts[4]), called)
        elif kind == "SEQUENCE":
            self.made[name] = Derived("sequence", self.type(parts[1]), _number(parts[2]), called)
        elif kind == "POINTER":
            # Made before its target, because the target may lead back here.
            made = self.made[name] = Derived("pointer", None, 0, called)
            made.element = self.type(parts[1])
        else:
            raise Malformed(f"the compiler's output has an IW_{kind}_DEF, which this version does "
                            "not know [MALFORMED]")

    def _enum(self, name: str, called: str, members: str) -> None:
        values = [(member.strip('"'), _number(value)) for member, value in self.rows(members)]
        declared = enum.IntEnum(called.rpartition("::")[2], values)  # type: ignore[misc]
        self.classes[name] = declared
        self.made[name] = _declared[declared] = Enum(called, values, declared)

    def _record(self, name: str, called: str, fields: str) -> None:
        rows = self.rows(fields)
        declared = struct_class(called.rpartition("::")[2], [row[0].strip('"') for row in rows], {})
        made = Record(called, {}, self.scope, declared)
        self.classes[name], self.made[name], _declared[declared] = declared, made, made
        made.fields = {row[0].strip('"'): self.type(row[1]) for row in rows}
        _pending.append(made)

    def _union(self, name: str, called: str, parts: List[str]) -> None:
        tag, discriminant, *_ = _parts(self.objects[parts[3][1:]][1].strip("{}"))
        made = UnionType(called, (tag.strip('"'), None), [], None, self.scope)
        self.made[name] = made
        made.discriminant = (tag.strip('"'), self.type(discriminant))
        made.arms = [self._arm(row) for row in self.rows(parts[4])]
        if parts[6] != "NULL":
            default, annotation, _ = self._arm(_parts(self.objects[parts[6][1:]][1].strip("{}")))
            made.otherwise = (default, annotation)
        _pending.append(made)

    def _arm(self, row: List[str]) -> Tuple[str, Any, List[int]]:
        arm, reference, _, values, _ = row
        numbers = [] if values == "NULL" else _parts(self.objects[values][1].strip("{}"))
        return arm.strip('"'), self.type(reference), [_number(one) for one in numbers]


def _number(literal: str) -> int:
    """A C literal: 4U, -1, (-2147483647 - 1)."""
    return sum(int(one.rstrip("Uu")) for one in literal.strip("()").replace(" - ", " -").split())
