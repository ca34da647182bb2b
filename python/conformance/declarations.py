"""Types as the conformance runner writes them (conformance/README.md): JSON
to declarations and back."""

from __future__ import annotations

import enum
from typing import Annotated, Any, Dict, List, Optional

import interweave
from interweave.declare import (PRIMITIVES, Declared, Derived, Enum, FixedString, Record, Scope,
                                Text, UnionType, _pending)
from interweave.layouts import (ArrayLayout, EnumLayout, Layout, PointerLayout, PrimitiveLayout,
                                RecordLayout, SequenceLayout, StringLayout, TextLayout, UnionLayout)


class Declarations:
    """The types declared to this process. Named types are declared by classes, as in programs."""

    def __init__(self) -> None:
        self.named: Dict[str, Any] = {name.lower(): one for name, one in PRIMITIVES.items()}

    def declare(self, descriptions: List[Dict[str, Any]]) -> None:
        """Declares enums first, because the other types look them up by name, as in programs."""
        for description in sorted(descriptions, key=lambda one: "enum" not in one):
            name = description["name"]
            self.named[name] = self.declared(name, description)

    def find(self, description: Any) -> Any:
        """Returns the type in the form that Segment.new() takes."""
        if isinstance(description, dict):
            return self.anonymous(description)
        if description not in self.named:
            raise interweave.UnknownType(f"the type {description} was not declared")
        return self.named[description]

    def part(self, description: Any) -> Any:
        """Returns an annotation for the type. For a type that is declared later it is the name."""
        if isinstance(description, str):
            return self.named.get(description, description)
        return self.find(description)

    def declared(self, name: str, description: Dict[str, Any]) -> Any:
        if "enum" in description:
            return enum.IntEnum(name, description["enum"])
        if "record" in description:
            fields = {field: self.part(kind) for field, kind in description["record"]}
            return interweave.struct(type(name, (), {"__annotations__": fields}))
        if "union" in description:
            (tag, discriminant), arms, default = self.choice(description["union"])
            members = {
                arm[0] or f"void{at}": Annotated[arm[1], interweave.Case(*arm[2])]
                for at, arm in enumerate(arms)
            }
            if default is not None:
                members[default[0] or "void"] = Annotated[default[1], interweave.Default]
            made_class = type(name, (), {"__annotations__": members})
            return interweave.union(discriminant, tag=tag)(made_class)
        return self.derived(description, name)

    def derived(self, description: Dict[str, Any], name: str = "") -> Derived:
        (kind, body), = ((kind, body) for kind, body in description.items() if kind != "name")
        if kind == "pointer":
            return Derived(kind, self.arm(body), 0, name)
        if kind in ("array", "sequence"):
            return Derived(kind, self.part(body[0]), body[1], name)
        raise ValueError(f"{kind} is not a kind of type")

    def anonymous(self, description: Dict[str, Any]) -> Declared:
        if "string" in description:
            return FixedString(description["string"])
        if "text" in description:
            return Text(description["text"])
        if "enum" in description:
            return Enum("", [(name, value) for name, value in description["enum"]])
        scope = Scope({})
        made: Any
        if "record" in description:
            fields = {field: self.part(kind) for field, kind in description["record"]}
            made = Record("", fields, scope)
        elif "union" in description:
            discriminant, arms, default = self.choice(description["union"])
            made = UnionType("", discriminant, arms, default, scope)
        else:
            return self.derived(description)
        _pending.append(made)
        return made  # type: ignore[no-any-return]

    def choice(self, body: Dict[str, Any]) -> Any:
        """(discriminant, arms, default arm)"""
        name, kind = body["on"]
        arms = [(arm, self.arm(of), values) for arm, of, values in body["arms"]]
        default = body.get("default")
        otherwise = None if default is None else (default[0], self.arm(default[1]))
        return (name, self.part(kind)), arms, otherwise

    def arm(self, description: Any) -> Any:
        return None if description is None else self.part(description)


def described(layout: Optional[Layout]) -> Any:
    """Returns a type's name, or the parts of an anonymous type."""
    if layout is None or layout.name:
        return layout and layout.name
    if isinstance(layout, PrimitiveLayout):
        return layout.spelled
    if isinstance(layout, StringLayout):
        return {"string": layout.size - 1}
    if isinstance(layout, TextLayout):
        return {"text": layout._parts["count"]}
    if isinstance(layout, EnumLayout):
        return {"enum": [list(member) for member in layout._parts["members"]]}
    if isinstance(layout, ArrayLayout):
        return {"array": [described(layout.element), layout.count]}
    if isinstance(layout, SequenceLayout):
        return {"sequence": [described(layout.element), layout._parts["count"]]}
    if isinstance(layout, PointerLayout):
        return {"pointer": described(layout.target)}
    if isinstance(layout, RecordLayout):
        return {
            "record": [[field.name, described(field.layout)] for field in layout.fields.values()]
        }
    assert isinstance(layout, UnionLayout)
    arms = [[arm.name, described(arm.layout), arm.values] for arm in layout.arms]
    rest: Dict[str, Any] = {}
    if layout.otherwise is not None:
        rest["default"] = [layout.otherwise.name, described(layout.otherwise.layout)]
    on = [layout.discriminant.name, described(layout.discriminant.layout)]
    return {"union": {"on": on, "arms": arms, **rest}}
