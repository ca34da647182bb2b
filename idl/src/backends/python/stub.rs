//! A module's stub: it tells type checkers (mypy, pyright) of the module's values.

use super::names::{is_declared, type_name};
use super::renamed;
use crate::backends::definitions::{self, Definitions};
use crate::backends::text::Text;
use crate::ir::{Constant, DefBody, DefId, Field, Member, Primitive, Schema, Type, Union};
use std::collections::BTreeSet;

pub fn text(schema: &Schema, ordered: &[DefId], head: &str, imports: &[String]) -> String {
    let mut stub = Stub {
        schema,
        text: Text::new("    "),
        hidden: BTreeSet::new(),
        attributes: Vec::new(),
    };
    stub.text.line(head);
    stub.text.lines(["import enum", "import typing"]);
    stub.text.blank();
    stub.text.lines([
        "import interweave",
        "import numpy as np",
        "import numpy.typing as npt",
    ]);
    stub.text.line("from interweave.annotations import Row");
    if !imports.is_empty() {
        stub.text.blank();
        stub.text.lines(imports);
    }
    definitions::write(schema, ordered.iter().copied(), &mut stub);
    let hidden = std::mem::take(&mut stub.hidden);
    if !hidden.is_empty() {
        stub.text.blank();
        stub.text
            .line("# Types whose names are also fields of structs here.");
    }
    for name in hidden {
        let line = format!("{}: typing.TypeAlias = {name}", beside(&name));
        stub.text.line(line);
    }
    stub.text.finish()
}

struct Stub<'a> {
    schema: &'a Schema,
    text: Text,
    /// Types that were named where a field has their name.
    hidden: BTreeSet<String>,
    /// The fields of the class that is being written.
    attributes: Vec<String>,
}

/// Another name for a type.
fn beside(name: &str) -> String {
    format!("_type_{name}")
}

impl Definitions for Stub<'_> {
    fn separator(&mut self) {
        self.text.blank();
    }

    fn comment(&mut self, doc: &Option<String>) {
        self.text.comment("#", doc);
    }

    fn constant(&mut self, id: DefId, value: &Constant) {
        let name = type_name(self.schema.def(id));
        self.text.line(match value {
            Constant::Number(number) => format!("{name}: typing.Final = {number}"),
            Constant::Text(_) => format!("{name}: typing.Final[str]"),
        });
    }

    fn alias(&mut self, id: DefId, target: &Type) {
        let name = type_name(self.schema.def(id));
        let shown = match renamed(self.schema, id) {
            Some(target) => type_name(self.schema.def(target)),
            None => self.value(target),
        };
        self.text
            .line(format!("{name}: typing.TypeAlias = {shown}"));
    }

    fn enumeration(&mut self, id: DefId, members: &[Member]) {
        let name = type_name(self.schema.def(id));
        self.text.open(format!("class {name}(enum.IntEnum):"));
        for member in members {
            self.text.comment("#", &member.doc);
            match is_declared(&member.name) {
                true => self
                    .text
                    .line(format!("{} = {}", member.name, member.value)),
                false => self.by_item(&member.name),
            }
        }
        self.text.outdent();
    }

    fn structure(&mut self, id: DefId, fields: &[Field]) {
        let name = type_name(self.schema.def(id));
        self.text.open(format!("class {name}(interweave.Struct):"));
        self.attributes(fields.iter());
    }

    fn union(&mut self, id: DefId, union: &Union) {
        let name = type_name(self.schema.def(id));
        self.text.open(format!("class {name}(interweave.Union):"));
        self.attributes(union.arm_fields());
    }
}

impl Stub<'_> {
    /// The body of a class.
    fn attributes<'a>(&mut self, fields: impl Iterator<Item = &'a Field>) {
        let fields: Vec<&Field> = fields.collect();
        self.attributes = fields.iter().map(|field| field.name.clone()).collect();
        if fields.is_empty() {
            self.text.line("...");
        }
        for field in fields {
            self.text.comment("#", &field.doc);
            match is_declared(&field.name) {
                true => self.attribute(field),
                false => self.by_item(&field.name),
            }
        }
        self.attributes.clear();
        self.text.outdent();
    }

    fn by_item(&mut self, name: &str) {
        self.text
            .line(format!("# {name}: as an item, [\"{name}\"]"));
    }

    /// Lists are read as what they are, and any list is assigned to them.
    fn attribute(&mut self, field: &Field) {
        let (name, shown) = (&field.name, self.value(&field.ty));
        let assigned = match self.elements_of(&field.ty) {
            None => return self.text.line(format!("{name}: {shown}")),
            Some(element) if is_number(self.schema, &element) => "npt.ArrayLike",
            Some(_) => "typing.Iterable[typing.Any]",
        };
        self.text.line("@property");
        self.text.line(format!("def {name}(self) -> {shown}: ..."));
        self.text.line(format!("@{name}.setter"));
        self.text
            .line(format!("def {name}(self, value: {assigned}) -> None: ..."));
    }

    /// The type of a list's elements; None if the type is not a list.
    fn elements_of(&self, ty: &Type) -> Option<Type> {
        match self.schema.resolve(ty) {
            Type::Array(element, _) | Type::Sequence(element, _) => {
                let inner = self.elements_of(element);
                Some(inner.unwrap_or_else(|| (**element).clone()))
            }
            Type::Opaque(_) | Type::OpaqueVar(_) | Type::Primitive(Primitive::Quadruple) => {
                Some(Type::Primitive(Primitive::UChar))
            }
            _ => None,
        }
    }

    /// The type of a value.
    fn value(&mut self, ty: &Type) -> String {
        match ty {
            Type::Primitive(Primitive::Quadruple) => view_of(Primitive::UChar),
            Type::Primitive(Primitive::Float | Primitive::Double) => "float".to_string(),
            Type::Primitive(Primitive::Bool) => "bool".to_string(),
            Type::Primitive(_) => "int".to_string(),
            Type::Named(id) => self.named(*id),
            Type::Opaque(_) | Type::OpaqueVar(_) => view_of(Primitive::UChar),
            Type::String(_) => "str".to_string(),
            Type::Array(element, _) | Type::Sequence(element, _) => self.row_of(element),
            Type::Pointer(target) => {
                let is_one = match self.schema.resolve(target) {
                    Type::Named(id) => !matches!(self.schema.def(*id).body, DefBody::Enum(_)),
                    Type::Array(..) | Type::Opaque(_) => true,
                    Type::Primitive(primitive) => *primitive == Primitive::Quadruple,
                    _ => false,
                };
                // A pointer to a number or a text leads to the rest of a row.
                let target = match is_one {
                    true => self.value(target),
                    false => self.row_of(target),
                };
                format!("typing.Optional[{target}]")
            }
            Type::AnyPointer => "typing.Any".to_string(),
        }
    }

    /// A field of the same name hides a type within the class.
    fn named(&mut self, id: DefId) -> String {
        let name = type_name(self.schema.def(id));
        match self.attributes.contains(&name) {
            true => {
                self.hidden.insert(name.clone());
                beside(&name)
            }
            false => name,
        }
    }

    fn row_of(&mut self, element: &Type) -> String {
        let inner = self.elements_of(element).unwrap_or_else(|| element.clone());
        match number_of(self.schema, &inner) {
            // Rows of varying length have objects as their elements.
            Some(number) if !has_sequence(self.schema, element) => view_of(number),
            _ => format!("Row[{}]", self.value(element)),
        }
    }
}

/// Whether the elements of a list lie elsewhere.
fn has_sequence(schema: &Schema, ty: &Type) -> bool {
    match schema.resolve(ty) {
        Type::Sequence(..) | Type::OpaqueVar(_) => true,
        Type::Array(element, _) => has_sequence(schema, element),
        _ => false,
    }
}

fn is_number(schema: &Schema, ty: &Type) -> bool {
    number_of(schema, ty).is_some()
}

/// The number by which numpy shows a value.
fn number_of(schema: &Schema, ty: &Type) -> Option<Primitive> {
    match schema.resolve(ty) {
        Type::Primitive(primitive) => Some(*primitive),
        Type::Named(id) => match &schema.def(*id).body {
            DefBody::Enum(_) => Some(Primitive::Int),
            _ => None,
        },
        _ => None,
    }
}

fn view_of(primitive: Primitive) -> String {
    let name = match primitive {
        Primitive::Char => "int8",
        Primitive::UChar | Primitive::Quadruple => "uint8",
        Primitive::Short => "int16",
        Primitive::UShort => "uint16",
        Primitive::Int | Primitive::Bool => "int32",
        Primitive::UInt => "uint32",
        Primitive::Hyper => "int64",
        Primitive::UHyper => "uint64",
        Primitive::Float => "float32",
        Primitive::Double => "float64",
    };
    format!("npt.NDArray[np.{name}]")
}
