//! The module that declares types when it is imported.

use super::names::{is_attribute, type_name};
use super::{quoted, renamed};
use crate::backends::definitions::{self, Definitions};
use crate::backends::text::Text;
use crate::ir::{
    Arm, Constant, Def, DefBody, DefId, Field, Member, Primitive, Schema, Type, Union,
};

pub fn text(schema: &Schema, ordered: &[DefId], head: &str, imports: &[String]) -> String {
    let mut module = Module {
        schema,
        text: Text::new("    "),
    };
    let bodies = || ordered.iter().map(|id| &schema.def(*id).body);
    module.text.line(head);
    if bodies().any(|body| matches!(body, DefBody::Enum(_))) {
        module.text.line("import enum");
    }
    if bodies().any(|body| matches!(body, DefBody::Union(_))) {
        module.text.line("import typing");
    }
    if bodies().any(|body| !matches!(body, DefBody::Const(_))) {
        module.text.blank();
        module.text.line("import interweave");
    }
    if !imports.is_empty() {
        module.text.blank();
        module.text.lines(imports);
    }
    // Other names for types come last: what they stand for may be declared after them.
    let is_other_name = |id: &&DefId| renamed(schema, **id).is_some();
    let (others, types): (Vec<&DefId>, Vec<&DefId>) = ordered.iter().partition(is_other_name);
    definitions::write(schema, types.into_iter().copied(), &mut module);
    if !others.is_empty() {
        module.text.blank();
    }
    for id in others {
        let target = renamed(schema, *id).expect("it is another name");
        let (name, target) = (type_name(schema.def(*id)), type_name(schema.def(target)));
        module.text.line(format!("{name} = {target}"));
    }
    module.text.finish()
}

struct Module<'a> {
    schema: &'a Schema,
    text: Text,
}

impl Definitions for Module<'_> {
    fn separator(&mut self) {
        self.text.blank();
    }

    fn comment(&mut self, doc: &Option<String>) {
        self.text.comment("#", doc);
    }

    fn constant(&mut self, id: DefId, value: &Constant) {
        let name = type_name(self.schema.def(id));
        self.text.line(match value {
            Constant::Number(number) => format!("{name} = {number}"),
            Constant::Text(text) => format!("{name} = {}", quoted(text)),
        });
    }

    fn alias(&mut self, id: DefId, target: &Type) {
        let def = self.schema.def(id);
        let name = type_name(def);
        let shown = self.shown(target, false);
        self.text.line(match target {
            Type::Primitive(primitive) if *primitive != Primitive::Quadruple => {
                format!("{name} = {shown}")
            }
            _ => format!("{name} = interweave.named({}, {shown})", own_name(def)),
        });
    }

    fn enumeration(&mut self, id: DefId, members: &[Member]) {
        let def = self.schema.def(id);
        let name = type_name(def);
        let head = format!("{name} = interweave.named({}, enum.IntEnum(", own_name(def));
        self.text.open(format!("{head}\"{name}\", ["));
        for member in members {
            self.text.comment("#", &member.doc);
            self.text
                .line(format!("(\"{}\", {}),", member.name, member.value));
        }
        self.text.close("], module=__name__))");
    }

    fn structure(&mut self, id: DefId, fields: &[Field]) {
        let def = self.schema.def(id);
        let name = type_name(def);
        self.text
            .line(format!("@interweave.struct(name={})", own_name(def)));
        let shown = |field: &Field| self.shown(&field.ty, false);
        let shown: Vec<String> = fields.iter().map(shown).collect();
        let attributes = fields.iter().zip(shown);
        self.class(&name, attributes.map(|(f, shown)| (&f.name, shown, &f.doc)));
    }

    fn union(&mut self, id: DefId, union: &Union) {
        let def = self.schema.def(id);
        let (name, discriminant) = (type_name(def), &union.discriminant);
        let selector = self.shown(&discriminant.ty, false);
        let (own, tag) = (own_name(def), &discriminant.name);
        self.text.line(format!(
            "@interweave.union({selector}, name={own}, tag=\"{tag}\")"
        ));
        let arms = union.every_arm().enumerate();
        let arms: Vec<(String, String, &Option<String>)> = arms
            .map(|(at, arm)| {
                let shown = arm.field.as_ref().map(|field| self.shown(&field.ty, false));
                let shown = shown.unwrap_or("None".to_string());
                let marked = format!("typing.Annotated[{shown}, {}]", case_of(arm));
                // An arm without a value has no name.
                let name = arm.field.as_ref().map(|field| field.name.clone());
                (name.unwrap_or(format!("_void_{at}")), marked, &arm.doc)
            })
            .collect();
        self.class(
            &name,
            arms.iter()
                .map(|(name, shown, doc)| (name, shown.clone(), *doc)),
        );
    }
}

fn case_of(arm: &Arm) -> String {
    match arm.cases.is_empty() {
        true => "interweave.Default".to_string(),
        false => {
            let values: Vec<String> = arm
                .cases
                .iter()
                .map(|case| case.value.to_string())
                .collect();
            format!("interweave.Case({})", values.join(", "))
        }
    }
}

fn own_name(def: &Def) -> String {
    format!("\"{}\"", def.full_name("::"))
}

impl Module<'_> {
    /// A class whose annotations are these attributes.
    fn class<'a>(
        &mut self,
        name: &str,
        attributes: impl Iterator<Item = (&'a String, String, &'a Option<String>)>,
    ) {
        let attributes: Vec<_> = attributes.collect();
        self.text.open(format!("class {name}:"));
        if attributes.iter().all(|(name, _, _)| is_attribute(name)) {
            for (name, shown, doc) in attributes {
                self.text.comment("#", doc);
                self.text.line(format!("{name}: {shown}"));
            }
            self.text.outdent();
            return;
        }
        // Names that no attribute can be written with.
        self.text.open("__annotations__ = {");
        for (name, shown, doc) in attributes {
            self.text.comment("#", doc);
            self.text.line(format!("\"{name}\": {shown},"));
        }
        self.text.close("}");
        self.text.outdent();
    }

    /// A type expression. `is_led_to`: the type may be declared later, so that it is named.
    fn shown(&self, ty: &Type, is_led_to: bool) -> String {
        let sequence = |element: String, bound: &Option<u32>| match bound {
            Some(bound) => format!("interweave.Sequence[{element}, {bound}]"),
            None => format!("interweave.Sequence[{element}]"),
        };
        match ty {
            Type::Primitive(Primitive::Quadruple) => {
                "interweave.Array[interweave.UChar, 16]".to_string()
            }
            Type::Primitive(primitive) => format!("interweave.{}", word(*primitive)),
            Type::Named(id) => {
                let name = type_name(self.schema.def(*id));
                match is_led_to {
                    true => format!("\"{name}\""),
                    false => self.declared_before(*id, name),
                }
            }
            Type::Opaque(size) => format!("interweave.Array[interweave.UChar, {size}]"),
            Type::OpaqueVar(bound) => sequence("interweave.UChar".to_string(), bound),
            Type::String(Some(bound)) => format!("interweave.String[{bound}]"),
            Type::String(None) => "interweave.Text".to_string(),
            Type::Array(element, count) => {
                format!(
                    "interweave.Array[{}, {count}]",
                    self.shown(element, is_led_to)
                )
            }
            Type::Sequence(element, bound) => sequence(self.shown(element, true), bound),
            Type::Pointer(target) => {
                format!("interweave.Pointer[{}]", self.shown(target, true))
            }
            Type::AnyPointer => "interweave.AnyPointer".to_string(),
        }
    }

    /// Another name for a type is declared last, so that the type itself is named.
    fn declared_before(&self, id: DefId, name: String) -> String {
        match renamed(self.schema, id) {
            Some(target) => {
                let name = type_name(self.schema.def(target));
                self.declared_before(target, name)
            }
            None => name,
        }
    }
}

fn word(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Char => "Char",
        Primitive::UChar | Primitive::Quadruple => "UChar",
        Primitive::Short => "Short",
        Primitive::UShort => "UShort",
        Primitive::Int => "Int",
        Primitive::UInt => "UInt",
        Primitive::Hyper => "Hyper",
        Primitive::UHyper => "UHyper",
        Primitive::Float => "Float",
        Primitive::Double => "Double",
        Primitive::Bool => "Bool",
    }
}
