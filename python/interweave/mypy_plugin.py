"""Lets mypy take plain numbers as lengths: `Array[Double, 3]`, `String[15]`, `Sequence[Int, 8]`.

Without it, mypy wants `Literal[3]`. In pyproject.toml:

    [tool.mypy]
    plugins = ["interweave.mypy_plugin"]
"""

from __future__ import annotations

from typing import Callable, Optional, Type as Class

from mypy.plugin import AnalyzeTypeContext, Plugin
from mypy.types import AnyType, Type, TypeOfAny

_ROWS = ("interweave.annotations.Array", "interweave.annotations.Sequence")
_STRING = "interweave.annotations.String"


Hook = Callable[[AnalyzeTypeContext], Type]


class LengthsPlugin(Plugin):
    def get_type_analyze_hook(self, fullname: str) -> Optional[Hook]:
        if fullname in _ROWS:
            return _row
        return _string if fullname == _STRING else None


def _row(context: AnalyzeTypeContext) -> Type:
    """A row of the first argument. The lengths are not part of it."""
    if not context.type.args:
        context.api.fail("the type of the elements is missing: Array[Double, 3]", context.context)
        return AnyType(TypeOfAny.from_error)
    element = context.api.analyze_type(context.type.args[0])
    return context.api.named_type("interweave.annotations._Row", [element])


def _string(context: AnalyzeTypeContext) -> Type:
    return context.api.named_type("builtins.str", [])


def plugin(version: str) -> Class[Plugin]:
    """What mypy calls."""
    return LengthsPlugin
