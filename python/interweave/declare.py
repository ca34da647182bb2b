"""Types declared in Python.

    @interweave.struct
    class Node:
        key: interweave.Int
        name: interweave.String[16]
        next: interweave.Pointer["Node"]

becomes a type table like the ones that `interweave compile` generates. The table follows the
platform's C rules and is registered with the library. A name that is not declared yet is looked up
when the type is first used.
"""

from __future__ import annotations

import enum
import inspect
import sys
import typing
from typing import Any, Callable, Dict, List, Optional, Set, Tuple, Type, TypeVar, overload
from typing import Union as Either

import numpy as np

from . import _core
from .errors import Error, UnknownType
from .layouts import set_class, struct_class
from .objects import Struct

T = TypeVar("T")
KIND = {
    "enum": 2, "string": 3, "array": 4, "record": 5, "union": 6, "pointer": 7, "sequence": 8,
    "text": 9
}
LONGEST_STRING = 4096  # bytes, in the value itself; longer strings are texts
NAMES = ("Char", "UChar", "Short", "UShort", "Int", "UInt", "Hyper", "UHyper", "Float", "Double",
         "Bool")


class Declared:
    """A type expression. Its table is made once: at the first use after all types to which it leads
    are declared."""

    _table: int = 0

    def resolve(self, scope: "Scope", seen: "Set[Declared]") -> None:
        """Finds all types to which this one leads. Thrown: UnknownType, before any table is
        made."""
        if self._table or self in seen:
            return
        seen.add(self)
        for inner, one in self._parts(scope):
            as_declared(inner.find(one)).resolve(inner, seen)

    def _parts(self, scope: "Scope") -> List[Tuple["Scope", Any]]:
        """The annotations of the type's parts, each with the scope of its names."""
        return []

    def table(self, scope: "Scope") -> int:
        if not self._table:
            self._table = self._make(scope)
        return self._table

    def _make(self, scope: "Scope") -> int:
        raise NotImplementedError

    def __call__(self) -> None:
        # The method exists because typing requires a callable.
        raise TypeError("an InterWeave type cannot be called: it is not a class of values")


class Scope:
    """Looks up names in annotations: in types declared before, in the frame around the class, and
    in the class's module."""

    def __init__(self, names: Dict[str, Any], module: Optional[Dict[str, Any]] = None) -> None:
        self.names = names
        self.module = module or {}  # the module's own dictionary: names may come later

    def find(self, annotation: Any) -> Any:
        if isinstance(annotation, typing.ForwardRef):
            annotation = annotation.__forward_arg__
        if not isinstance(annotation, str):
            return annotation
        if annotation in _by_name:
            return _by_name[annotation]
        try:
            # As typing.get_type_hints does.
            return eval(annotation, {**self.module, **self.names}, dict(_by_name))
        except NameError as unknown:
            raise UnknownType(f"'{annotation}' is not declared (yet): {unknown} "
                              "[UNKNOWN_TYPE]") from None

    def table(self, annotation: Any) -> int:
        return as_declared(self.find(annotation)).table(self)


class Primitive(Declared):
    def __init__(self, name: str, table: int) -> None:
        self.name, self._table = name, table

    def __repr__(self) -> str:
        return f"interweave.{self.name}"


class Text(Declared):
    def __init__(self, bound: int = 0, name: str = "") -> None:
        self.bound, self.name = bound, name

    def _make(self, scope: Scope) -> int:
        table = _core.new_table(self.name, KIND["text"])
        _core.fill_derived(table, 0, self.bound)
        return table


class FixedString(Declared):
    def __init__(self, bound: int, name: str = "") -> None:
        self.bound, self.name = bound, name

    def _make(self, scope: Scope) -> int:
        table = _core.new_table(self.name, KIND["string"])
        _core.fill_derived(table, 0, self.bound)
        return table


class Derived(Declared):
    """An array, a pointer or a sequence."""

    def __init__(self, kind: str, element: Any, count: int, name: str = "",
                 scope: Optional[Scope] = None) -> None:
        self.kind, self.element, self.count, self.name = kind, element, count, name
        self.scope = scope  # None: that of whoever uses the type

    def _parts(self, scope: Scope) -> List[Tuple[Scope, Any]]:
        return [] if self.element is None else [(self.scope or scope, self.element)]

    def _make(self, scope: Scope) -> int:
        self._table = _core.new_table(self.name, KIND[self.kind])  # first: the target may lead back
        scope = self.scope or scope
        element = 0 if self.element is None else scope.table(self.element)
        _core.fill_derived(self._table, element, self.count)
        return self._table


class Enum(Declared):
    def __init__(self, name: str, members: List[Tuple[str, int]],
                 declared: Optional[type] = None) -> None:
        self.name, self.members, self.declared = name, members, declared

    def _make(self, scope: Scope) -> int:
        table = _core.new_table(self.name, KIND["enum"])
        _core.fill_enum(table, self.members)
        _core.register_types([table])
        if self.declared is not None:
            set_class(_core.laid_out(table), self.declared)
        return table


class Record(Declared):
    def __init__(self, name: str, fields: Dict[str, Any], scope: Scope,
                 declared: Optional[type] = None) -> None:
        self.name, self.fields, self.scope, self.declared = name, fields, scope, declared

    def _parts(self, scope: Scope) -> List[Tuple[Scope, Any]]:
        return [(self.scope, one) for one in self.fields.values()]

    def _make(self, scope: Scope) -> int:
        self._table = _core.new_table(self.name, KIND["record"])
        _core.fill_record(self._table,
                          [(name, self.scope.table(one)) for name, one in self.fields.items()])
        return self._table

    def register(self) -> None:
        self.resolve(self.scope, set())
        _core.register_types([self.table(self.scope)])
        if self.declared is not None:
            set_class(_core.laid_out(self._table), self.declared)


class Case:
    """The cases of an arm in a union's annotations: Annotated[interweave.Int, interweave.Case(1,
    2)]."""

    def __init__(self, *values: Any) -> None:
        self.values = values


DEFAULT = Case()
"""Marks a union's default arm."""


class UnionType(Declared):
    def __init__(self, name: str, discriminant: Tuple[str, Any],
                 arms: List[Tuple[str, Any, List[int]]],
                 otherwise: Optional[Tuple[str, Any]], scope: Scope) -> None:
        self.name, self.discriminant, self.scope = name, discriminant, scope
        self.arms, self.otherwise = arms, otherwise

    def _parts(self, scope: Scope) -> List[Tuple[Scope, Any]]:
        arms = [
            self.discriminant, *(arm[:2] for arm in self.arms),
            *([self.otherwise] if self.otherwise else [])
        ]
        return [(self.scope, annotation) for _, annotation in arms if not _is_void(annotation)]

    def _arm(self, name: str, annotation: Any,
             values: List[int]) -> Tuple[Tuple[str, int], List[int]]:
        return (("", 0) if _is_void(annotation) else (name, self.scope.table(annotation))), values

    def _make(self, scope: Scope) -> int:
        self._table = _core.new_table(self.name, KIND["union"])
        name, annotation = self.discriminant
        arms = [self._arm(*arm) for arm in self.arms]
        otherwise = None if self.otherwise is None else self._arm(*self.otherwise, [])
        _core.fill_union(self._table, (name, self.scope.table(annotation)), arms, otherwise)
        return self._table

    def register(self) -> None:
        self.resolve(self.scope, set())
        _core.register_types([self.table(self.scope)])


def _is_void(annotation: Any) -> bool:
    return annotation is None or annotation is type(None)


PRIMITIVES = {name: Primitive(name, table) for name, table in zip(NAMES, _core.primitives())}
_python_types: Dict[Any, Declared] = {
    int: PRIMITIVES["Hyper"], float: PRIMITIVES["Double"], bool: PRIMITIVES["Bool"], str: Text()}
_by_dtype = {
    "i1": "Char", "u1": "UChar", "i2": "Short", "u2": "UShort", "i4": "Int", "u4": "UInt",
    "i8": "Hyper", "u8": "UHyper", "f4": "Float", "f8": "Double", "b1": "Bool"
}
_by_name: Dict[str, Any] = {}
_declared: Dict[type, Declared] = {}
_pending: List[Either[Record, UnionType]] = []


def as_declared(annotation: Any) -> Declared:
    """Returns the type for an annotation, a declared class or a numpy dtype."""
    if isinstance(annotation, Declared):
        return annotation
    if isinstance(annotation, type) and annotation in _declared:
        return _declared[annotation]
    if isinstance(annotation, type) and issubclass(annotation, enum.IntEnum):
        # Aliases, too.
        members = [(name, int(member)) for name, member in annotation.__members__.items()]
        made = Enum(annotation.__name__, members, annotation)
        return _declared.setdefault(annotation, made)
    if isinstance(annotation, type) and annotation in _python_types:
        return _python_types[annotation]
    is_numpys = (isinstance(annotation, np.dtype)
                 or isinstance(annotation, type) and issubclass(annotation, np.generic))
    primitive = dtype_type(np.dtype(annotation)) if is_numpys else None
    if primitive is None:
        raise UnknownType(f"{annotation!r} is not an InterWeave type [UNKNOWN_TYPE]")
    return primitive


def dtype_type(dtype: "np.dtype[Any]") -> Optional[Declared]:
    """The type of one number of a numpy dtype, in either byte order. Returns None for others."""
    name = _by_dtype.get(dtype.str[1:])
    return None if name is None else PRIMITIVES[name]


def settle() -> None:
    """Registers the types that wait for types which were not declared yet."""
    for one in list(_pending):
        try:
            one.register()
        except UnknownType:
            continue
        except Error:
            _pending.remove(one)
            raise
        _pending.remove(one)


def table_of(annotation: Any) -> int:
    """Returns the type table with which a block of the type is allocated."""
    settle()
    declared = as_declared(annotation)
    scope = declared.scope if isinstance(declared, (Record, UnionType)) else Scope({})
    declared.resolve(scope, set())
    table = declared.table(scope)
    is_expression = isinstance(declared, (Derived, FixedString, Text))
    if declared in _pending or is_expression and table not in _registered:
        _core.register_types([table])
        _registered.add(table)
    return table


_registered: "set[int]" = set()


def _scope_around(declared: type, depth: int) -> Scope:
    module = sys.modules.get(declared.__module__)
    return Scope(dict(sys._getframe(depth).f_locals), vars(module) if module else None)


def _declare(made: Either[Record, UnionType], declared: type) -> None:
    _declared[declared] = made
    _by_name[declared.__name__] = declared
    _pending.append(made)
    settle()


@overload
def struct(declared: Type[T]) -> Type[T]: ...
@overload
def struct(*, name: Optional[str] = None) -> Callable[[Type[T]], Type[T]]: ...
def struct(declared: Optional[Type[T]] = None, *, name: Optional[str] = None) -> Any:
    """Declares a struct by an annotated class. Its methods stay. Its objects are places in a
    segment."""
    depth = 2 if declared is None else 3  # the depth of the frame whose names annotations may use

    def declare(given: Type[T]) -> Type[T]:
        annotations = inspect.get_annotations(given)
        namespace = {key: value for key, value in vars(given).items()
                     if key not in ("__dict__", "__weakref__")}
        made: Any = struct_class(given.__name__, list(annotations), namespace)
        scope = _scope_around(given, depth)
        _declare(Record(name or given.__name__, dict(annotations), scope, made), made)
        return made  # type: ignore[no-any-return]
    return declare if declared is None else declare(declared)


def named(name: str, given: Any) -> Any:
    """Gives a type the name of a typedef or an enum in an .x file. `interweave compile --lang
    python` writes such lines."""
    if isinstance(given, type) and issubclass(given, enum.IntEnum):
        members = [(member, int(value)) for member, value in given.__members__.items()]
        _declared[given] = Enum(name, members, given)
        return given
    if isinstance(given, Derived):
        caller = sys._getframe(1)
        scope = Scope(dict(caller.f_locals), caller.f_globals)
        return Derived(given.kind, given.element, given.count, name, scope)
    return type(given)(given.bound, name)


def union(discriminant: Any, *, name: Optional[str] = None,
          tag: str = "kind") -> Callable[[Type[T]], Type[T]]:
    """Declares a union by a class whose annotations are its arms: Annotated[TheType, Case(...)], or
    DEFAULT instead of Case."""
    def declare(given: Type[T]) -> Type[T]:
        scope = _scope_around(given, 2)
        arms: List[Tuple[str, Any, List[int]]] = []
        otherwise: Optional[Tuple[str, Any]] = None
        for arm, annotation in inspect.get_annotations(given).items():
            hint = scope.find(annotation)
            inner, case = hint.__origin__, hint.__metadata__[0]
            if case is DEFAULT:
                otherwise = (arm, inner)
            else:
                arms.append((arm, inner, [_case_bits(value) for value in case.values]))
        _declare(UnionType(name or given.__name__, (tag, discriminant), arms, otherwise, scope),
                 given)
        return given
    return declare


def _case_bits(value: Any) -> int:
    number = int(value)
    return number - 2**32 if number >= 2**31 else number


def _number(value: Any) -> int:
    # Literal[4], for type checkers.
    return int(value.__args__[0] if hasattr(value, "__args__") else value)


class _Array:
    def __getitem__(self, of: Tuple[Any, Any]) -> Derived:
        element, *counts = of
        for count in reversed(counts):
            element = Derived("array", element, _number(count))
        return element  # type: ignore[no-any-return]


class _Sequence:
    def __getitem__(self, of: Any) -> Derived:
        element, bound = of if isinstance(of, tuple) else (of, 0)
        return Derived("sequence", element, _number(bound))


class _Pointer:
    def __getitem__(self, target: Any) -> Derived:
        return Derived("pointer", target, 0)


class _String:
    def __getitem__(self, bound: Any) -> Declared:
        number = _number(bound)
        return FixedString(number) if number <= LONGEST_STRING else Text(number)


ARRAY, SEQUENCE, POINTER, STRING, TEXT = _Array(), _Sequence(), _Pointer(), _String(), Text()
ANY_POINTER = Derived("pointer", None, 0)
__all__ = ["Struct", "named", "struct", "union", "table_of", "Case", "DEFAULT"]
