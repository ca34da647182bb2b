//! TypeScript for a program's own data: a module per .x file, over the package `interweave`.
//!
//! A type becomes a TypeScript type and, by the same name, its declaration: an interface `node_t`
//! for what `segment.get("head", node_t)` gives. Constants and the members of enums are constants
//! of the module. Names are those of C; what is embedded is declared before its holder, what is
//! pointed at is named by a function, which is called when all is declared.

mod names;
pub mod spelling;

use super::definitions::{self, Definitions};
use super::limits::MAX_STRING_BOUND;
use super::order::{self, Cycles};
use super::text::Text;
use super::{first_line, included_path, names::primitive_word, output_path, stem};
use crate::compile::{GeneratedFile, Unit};
use crate::diagnostics::Report;
use crate::ir::{
    Arm, Case, Constant, Def, DefBody, DefId, Field, Member, Primitive, Schema, Type, Union,
};
use crate::source::FileId;
use names::{case_name, member_name, property, type_name};
use spelling::Imports;
use std::path::PathBuf;

pub fn generate(unit: &Unit<'_>, report: &mut Report) -> Vec<(PathBuf, GeneratedFile)> {
    names::check(unit.schema, report);
    let mut files = Vec::new();
    for &file in unit.roots {
        let path = output_path(unit, file, "ts");
        let text = module_text(unit, file);
        files.push((
            unit.sources.path(file).to_path_buf(),
            GeneratedFile { path, text },
        ));
    }
    files
}

fn module_text(unit: &Unit<'_>, file: FileId) -> String {
    let mut generator = Generator {
        schema: unit.schema,
        text: Text::new("  "),
    };
    let text = &mut generator.text;
    text.line(format!("// {}", first_line(unit, file)));
    let ordered = order::definition_order(unit.schema, file, &Cycles::of(unit.schema));
    let is_type = |id: &DefId| !matches!(unit.schema.def(*id).body, DefBody::Const(_));
    if ordered.iter().any(is_type) {
        text.line("import * as iw from \"interweave\";");
    }
    generator.imports(unit, file);
    definitions::write(unit.schema, ordered.iter().copied(), &mut generator);
    generator.other_names(&ordered);
    generator.text.finish()
}

/// Longer lines are broken where that is easy.
const COLUMNS: usize = 100;

struct Generator<'a> {
    schema: &'a Schema,
    text: Text,
}

impl Definitions for Generator<'_> {
    fn separator(&mut self) {
        self.text.blank();
    }

    fn comment(&mut self, doc: &Option<String>) {
        self.text.block_comment(doc);
    }

    fn constant(&mut self, id: DefId, value: &Constant) {
        let name = type_name(self.schema.def(id));
        spelling::constant(&mut self.text, &name, value);
    }

    fn alias(&mut self, id: DefId, target: &Type) {
        let def = self.schema.def(id);
        let (name, shown) = (type_name(def), self.shown(target));
        self.text.line(format!("export type {name} = {shown};"));
        match target {
            Type::Named(_) => {}
            Type::Primitive(primitive) if *primitive != Primitive::Quadruple => {
                self.declaration(def, vec![format!("{};", self.reference(target))]);
            }
            _ => {
                let (full_name, derived) = (def.full_name("::"), self.derived(target));
                let named = format!("iw.t.named(\"{full_name}\", {derived});");
                self.declaration(def, vec![named]);
            }
        }
    }

    fn enumeration(&mut self, id: DefId, members: &[Member]) {
        let def = self.schema.def(id);
        for member in members {
            self.text.block_comment(&member.doc);
            let name = member_name(def, &member.name);
            let number = Constant::Number(member.value.into());
            spelling::constant(&mut self.text, &name, &number);
        }
        let name = type_name(def);
        let values: Vec<String> = members
            .iter()
            .map(|member| format!("typeof {}", member_name(def, &member.name)))
            .collect();
        let shown = format!("export type {name} = {};", values.join(" | "));
        self.text.broken_line(shown, "| ");
        let line = |member: &Member| {
            let value = member_name(def, &member.name);
            format!("  {}: {value},", property(&member.name))
        };
        let head = format!("iw.t.enumeration(\"{}\", {{", def.full_name("::"));
        let lines = enclosed(head, members.iter().map(line), "});".into());
        self.declaration(def, lines);
    }

    fn structure(&mut self, id: DefId, fields: &[Field]) {
        let def = self.schema.def(id);
        let name = type_name(def);
        let members = fields.iter().map(|field| self.member(field)).collect();
        spelling::interface(&mut self.text, &name, fields, members);
        let line = |Field { name, ty, .. }: &Field| {
            format!("  {}: {},", property(name), self.reference(ty))
        };
        let head = format!("iw.t.record(\"{}\", {{", def.full_name("::"));
        let lines = enclosed(head, fields.iter().map(line), "});".into());
        self.declaration(def, lines);
    }

    fn union(&mut self, id: DefId, union: &Union) {
        let def = self.schema.def(id);
        let name = type_name(def);
        let case = |value: i64| match self.case_of(union, value) {
            Some(name) => format!("typeof {name}"),
            None => self.case_value(union, value),
        };
        let lines = spelling::union_type(&name, union, |ty| self.shown(ty), case);
        self.text.lines(lines);
        let discriminant = &union.discriminant;
        let reference = self.reference(&discriminant.ty);
        let line = |arm: &Arm| {
            let values: Vec<String> = arm.cases.iter().map(|c| number(c).to_string()).collect();
            format!(
                "  {{ {}, values: [{}] }},",
                self.arm(arm),
                values.join(", ")
            )
        };
        let (full_name, named) = (def.full_name("::"), &discriminant.name);
        let head = format!("iw.t.union(\"{full_name}\", [\"{named}\", {reference}], [");
        let end = match &union.default {
            Some(arm) => format!("], {{ {} }});", self.arm(arm)),
            None => "]);".into(),
        };
        let lines = enclosed(head, union.arms.iter().map(line), end);
        self.declaration(def, lines);
    }
}

impl Generator<'_> {
    fn imports(&mut self, unit: &Unit<'_>, file: FileId) {
        let schema = self.schema;
        let mut used = Imports::default();
        for id in schema.of_file(file) {
            let def = schema.def(id);
            for other in order::mentioned(def) {
                let home = schema.def(other).file;
                if home == file {
                    continue;
                }
                let include = unit.includes.iter();
                let include = include.filter(|i| i.from == file).find(|i| i.to == home);
                let module = match include {
                    Some(include) => included_path(unit, file, include),
                    None => stem(unit, home),
                };
                used.add(&module, type_name(schema.def(other)));
                // The declaration stands for what the name stands for.
                if let Some(target) = self.stands_for(other) {
                    if schema.def(target).file == home {
                        used.add(&module, type_name(schema.def(target)));
                    }
                }
                let DefBody::Union(union) = &def.body else {
                    continue;
                };
                if schema.resolve(&union.discriminant.ty) == &Type::Named(other) {
                    let cases = union.arms.iter().flat_map(|arm| &arm.cases);
                    for case in cases.filter_map(|case| self.case_of(union, case.value)) {
                        used.add(&module, case);
                    }
                }
            }
        }
        used.write(&mut self.text);
    }

    /// The definition that a typedef merely renames; None if the typedef says more.
    fn stands_for(&self, id: DefId) -> Option<DefId> {
        match &self.schema.def(id).body {
            DefBody::Alias(Type::Named(target)) => {
                Some(self.stands_for(*target).unwrap_or(*target))
            }
            _ => None,
        }
    }

    /// `value` is an expression in lines.
    fn declaration(&mut self, def: &Def, value: Vec<String>) {
        let name = type_name(def);
        let head = format!("export const {name}: iw.DeclaredAs<{name}> =");
        match head.len() + value[0].len() < COLUMNS {
            true => {
                self.text.line(format!("{head} {}", value[0]));
                self.text.lines(&value[1..]);
            }
            false => {
                self.text.line(head);
                self.text
                    .lines(value.iter().map(|line| format!("  {line}")));
            }
        }
    }

    /// Other names for types come last: what they stand for may be declared after them.
    fn other_names(&mut self, ordered: &[DefId]) {
        let others = ordered
            .iter()
            .filter_map(|&id| Some((id, self.stands_for(id)?)));
        let others: Vec<(DefId, DefId)> = others.collect();
        if !others.is_empty() {
            self.text.blank();
        }
        for (id, target) in others {
            let target = format!("{};", type_name(self.schema.def(target)));
            self.declaration(self.schema.def(id), vec![target]);
        }
    }

    /// A list is read as what it is, and any list is assigned to it.
    fn member(&self, Field { name, ty, .. }: &Field) -> Vec<String> {
        let shown = self.shown(ty);
        match self.assigned(ty) {
            Some(element) => vec![
                format!("get {name}(): {shown};"),
                format!("set {name}(values: Iterable<{element}>);"),
            ],
            None => vec![format!("{name}: {shown};")],
        }
    }

    fn arm(&self, arm: &Arm) -> String {
        match &arm.field {
            Some(field) => {
                let reference = self.reference(&field.ty);
                format!("name: \"{}\", type: {reference}", field.name)
            }
            None => "name: \"\", type: null".into(),
        }
    }

    /// The constant that is a case's value, if it is an enum's member.
    fn case_of(&self, union: &Union, value: i64) -> Option<String> {
        let Type::Named(id) = self.schema.resolve(&union.discriminant.ty) else {
            return None;
        };
        case_name(self.schema.def(*id), value)
    }

    fn case_value(&self, union: &Union, value: i64) -> String {
        match self.schema.resolve(&union.discriminant.ty) {
            Type::Primitive(Primitive::Bool) => (value != 0).to_string(),
            _ => value.to_string(),
        }
    }

    // ---- as declarations ----

    /// The declaration of a type, where it is embedded.
    fn reference(&self, ty: &Type) -> String {
        match ty {
            Type::Primitive(primitive) if *primitive != Primitive::Quadruple => {
                format!("iw.t.{}", primitive_word(*primitive))
            }
            Type::Named(id) => {
                let id = self.stands_for(*id).unwrap_or(*id);
                type_name(self.schema.def(id))
            }
            _ => self.derived(ty),
        }
    }

    /// The same, where it is pointed at.
    fn target(&self, ty: &Type) -> String {
        match ty {
            Type::Primitive(_) => self.reference(ty),
            _ => format!("() => {}", self.reference(ty)),
        }
    }

    fn derived(&self, ty: &Type) -> String {
        match ty {
            Type::Array(element, count) => {
                format!("iw.t.array({}, {count})", self.reference(element))
            }
            Type::Opaque(size) => format!("iw.t.array(iw.t.uchar, {size})"),
            Type::Primitive(_) => "iw.t.array(iw.t.uchar, 16)".into(),
            Type::Sequence(element, bound) => {
                format!("iw.t.sequence({}{})", self.target(element), limit(bound))
            }
            Type::OpaqueVar(bound) => format!("iw.t.sequence(iw.t.uchar{})", limit(bound)),
            Type::AnyPointer => "iw.t.pointer(null)".into(),
            Type::Pointer(target) => format!("iw.t.pointer({})", self.target(target)),
            Type::String(Some(bound)) if *bound <= MAX_STRING_BOUND => {
                format!("iw.t.string({bound})")
            }
            Type::String(bound) => format!("iw.t.text({})", bound.unwrap_or(0)),
            Type::Named(_) => unreachable!("named types have declarations of their own"),
        }
    }

    // ---- as types ----

    fn shown(&self, ty: &Type) -> String {
        match ty {
            Type::Primitive(primitive) => spelling::primitive_value(*primitive).into(),
            Type::Named(id) => type_name(self.schema.def(*id)),
            Type::AnyPointer => "unknown".into(),
            Type::Opaque(_) => "Uint8Array".into(),
            Type::OpaqueVar(_) => "Uint8Array | never[]".into(),
            Type::String(_) => "string".into(),
            Type::Array(element, _) => self.elements(element),
            Type::Sequence(element, _) => format!("{} | never[]", self.elements(element)),
            Type::Pointer(target) => format!("{} | null", self.pointee(target)),
        }
    }

    /// Values side by side: numbers lie in a typed array.
    fn elements(&self, element: &Type) -> String {
        if let Type::Primitive(primitive) = self.schema.resolve(element) {
            if let Some(class) = array_class(*primitive) {
                return class.into();
            }
        }
        format!("iw.ArrayView<{}>", self.shown(element))
    }

    /// What a pointer leads to: of numbers and the like all from there on.
    fn pointee(&self, target: &Type) -> String {
        let is_whole = match self.schema.resolve(target) {
            Type::Named(id) => !matches!(self.schema.def(*id).body, DefBody::Enum(_)),
            Type::Primitive(primitive) => *primitive == Primitive::Quadruple,
            Type::Array(..) | Type::Opaque(_) => true,
            _ => false,
        };
        match is_whole {
            true => self.shown(target),
            false => self.elements(target),
        }
    }

    /// The type of a list's elements in an assignment; None if the type is not a list.
    fn assigned(&self, ty: &Type) -> Option<String> {
        match self.schema.resolve(ty) {
            Type::Opaque(_) | Type::OpaqueVar(_) | Type::Primitive(Primitive::Quadruple) => {
                Some("number".into())
            }
            Type::Array(element, _) | Type::Sequence(element, _) => {
                Some(match self.assigned(element) {
                    Some(inner) => format!("Iterable<{inner}>"),
                    None => self.shown(element),
                })
            }
            _ => None,
        }
    }
}

fn enclosed(head: String, lines: impl Iterator<Item = String>, end: String) -> Vec<String> {
    std::iter::once(head).chain(lines).chain([end]).collect()
}

/// A case's value as the descriptor has it: 32 bits.
fn number(case: &Case) -> i32 {
    case.value as i32
}

fn limit(bound: &Option<u32>) -> String {
    bound.map_or(String::new(), |bound| format!(", {bound}"))
}

fn array_class(primitive: Primitive) -> Option<&'static str> {
    Some(match primitive {
        Primitive::Char => "Int8Array",
        Primitive::UChar => "Uint8Array",
        Primitive::Short => "Int16Array",
        Primitive::UShort => "Uint16Array",
        Primitive::Int => "Int32Array",
        Primitive::UInt => "Uint32Array",
        Primitive::Hyper => "BigInt64Array",
        Primitive::UHyper => "BigUint64Array",
        Primitive::Float => "Float32Array",
        Primitive::Double => "Float64Array",
        Primitive::Bool | Primitive::Quadruple => return None,
    })
}
