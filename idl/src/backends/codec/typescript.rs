//! The TypeScript codec: a module per .x file, and the `index.ts` that exports them all.
//!
//! A type becomes an interface (`VersionStamp`) and a value that encodes and decodes it
//! (`versionStamp`), put together from the combinators of the runtime, `xdr.ts`. That keeps the
//! browser's bundle small: there is no code per message, only a description. Members keep the names
//! of the .x file; an enum is its members (`ErrorCode.NO_BLOCK`) and the type of their numbers.

use super::walk::{self, primitive_word, Discriminant, Element, Module, Spelling, RUNTIME};
use crate::backends::definitions::{self, Definitions};
use crate::backends::names::{rust_constant, rust_type};
use crate::backends::text::Text;
use crate::backends::typescript::spelling::{self, Imports};
use crate::backends::{first_line, stem};
use crate::compile::{GeneratedFile, Unit, GENERATED_MARK};
use crate::diagnostics::Report;
use crate::ir::{
    Arm, Constant, Def, DefBody, DefId, Field, Member, Primitive, Schema, Type, Union,
};
use std::path::PathBuf;

pub fn generate(unit: &Unit<'_>, report: &mut Report) -> Vec<(PathBuf, GeneratedFile)> {
    walk::check_names(unit.schema, "TypeScript", own_name, report);
    walk::check_stems(unit, str::to_string, report);
    let mut index = Text::new("  ");
    index.line(format!(
        "// {GENERATED_MARK} from the .x files of these modules; do not edit."
    ));
    let mut files = walk::files(unit, |module| {
        let stem = &module.stem;
        index.line(format!("export * from \"./{stem}.js\";"));
        vec![(format!("{stem}.ts"), module_text(module))]
    });
    files.push(walk::index("index.ts", index.finish()));
    files
}

fn own_name(def: &Def) -> String {
    match def.body {
        DefBody::Const(_) => rust_constant(&def.name),
        _ => rust_type(&def.name),
    }
}

fn module_text(module: &Module<'_>) -> String {
    let mut generator = Generator {
        module,
        schema: module.schema,
        text: Text::new("  "),
    };
    let first = first_line(module.unit, module.file);
    generator.text.line(format!("// {first}"));
    generator.imports();
    definitions::write(module.schema, module.held_first(), &mut generator);
    generator.text.finish()
}

struct Generator<'a> {
    module: &'a Module<'a>,
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
        spelling::constant(&mut self.text, &own_name(self.schema.def(id)), value);
    }

    fn alias(&mut self, id: DefId, target: &Type) {
        let (name, shown) = (self.type_name(id), self.shown(target));
        self.text.line(format!("export type {name} = {shown};"));
        self.codec_constant(id, &self.codec(target));
    }

    fn enumeration(&mut self, id: DefId, members: &[Member]) {
        let name = self.type_name(id);
        self.text.open(format!("export const {name} = {{"));
        for member in members {
            self.text.block_comment(&member.doc);
            self.text
                .line(format!("{}: {},", member.name, member.value));
        }
        self.text.close("} as const;");
        self.text.line(format!(
            "export type {name} = (typeof {name})[keyof typeof {name}];"
        ));
        self.codec_constant(id, &format!("xdr.enumeration<{name}>({name})"));
    }

    fn structure(&mut self, id: DefId, fields: &[Field]) {
        let name = self.type_name(id);
        let member = |field: &Field| vec![format!("{}: {};", field.name, self.shown(&field.ty))];
        let members = fields.iter().map(member).collect();
        spelling::interface(&mut self.text, &name, fields, members);
        let codec_name = self.codec_name(id);
        let (nested, end) = self.nested(id);
        self.text.open(format!(
            "export const {codec_name}: xdr.Codec<{name}> = {nested}xdr.struct<{name}>({{"
        ));
        for field in fields {
            let codec = self.codec(&field.ty);
            self.text.line(format!("{}: {codec},", field.name));
        }
        self.text.close(format!("}}){end};"));
    }

    fn union(&mut self, id: DefId, union: &Union) {
        let name = self.type_name(id);
        let discriminant = &union.discriminant;
        let shown = |ty: &Type| self.shown(ty);
        let lines = spelling::union_type(&name, union, shown, |value| self.case(union, value));
        self.text.lines(lines);
        let codec_name = self.codec_name(id);
        let (nested, end) = self.nested(id);
        self.text.open(format!(
            "export const {codec_name}: xdr.Codec<{name}> = {nested}xdr.union<{name}>("
        ));
        let codec = self.codec(&discriminant.ty);
        self.text
            .line(format!("\"{}\", {codec}, [", discriminant.name));
        for arm in &union.arms {
            let cases: Vec<String> = arm
                .cases
                .iter()
                .map(|c| self.value(union, c.value))
                .collect();
            let payload = self.payload(arm);
            self.text
                .line(format!("  [[{}]{payload}],", cases.join(", ")));
        }
        let otherwise = match &union.default {
            Some(arm) => format!("], [[]{}],", self.payload(arm)),
            None => "],".into(),
        };
        self.text.line(otherwise);
        self.text.close(format!("){end};"));
    }
}

impl Generator<'_> {
    fn imports(&mut self) {
        let mut used = Imports::default();
        for id in self.module.foreign(false) {
            let module = stem(self.module.unit, self.schema.def(id).file);
            // An enum is also a value: its members.
            let is_enum = matches!(self.schema.def(id).body, DefBody::Enum(_));
            let kind = if is_enum { "" } else { "type " };
            used.add(&module, self.codec_name(id));
            used.add(&module, format!("{kind}{}", self.type_name(id)));
        }
        used.write(&mut self.text);
        if self.module.has(|body| !matches!(body, DefBody::Const(_))) {
            self.text.line("import * as xdr from \"./xdr.js\";");
        }
    }

    fn type_name(&self, id: DefId) -> String {
        own_name(self.schema.def(id))
    }

    fn codec_name(&self, id: DefId) -> String {
        codec_name(self.schema, id)
    }

    fn codec_constant(&mut self, id: DefId, codec: &str) {
        let (codec_name, type_name) = (self.codec_name(id), self.type_name(id));
        self.text.line(format!(
            "export const {codec_name}: xdr.Codec<{type_name}> = {codec};"
        ));
    }

    /// Around the codec of a type that may contain itself: its decoder runs within the reader's
    /// depth limit.
    fn nested(&self, id: DefId) -> (&'static str, &'static str) {
        match self.module.is_recursive(id) {
            true => ("xdr.nested(", ")"),
            false => ("", ""),
        }
    }

    /// What follows a case's values: the arm's member and its codec.
    fn payload(&self, arm: &Arm) -> String {
        arm.field.as_ref().map_or(String::new(), |field| {
            format!(", \"{}\", {}", field.name, self.codec(&field.ty))
        })
    }

    /// A case as an expression of the discriminant's type.
    fn value(&self, union: &Union, value: i64) -> String {
        match Discriminant::of(self.schema, union) {
            Discriminant::Bool => (value != 0).to_string(),
            Discriminant::Enum(id, members) => {
                let member = members.iter().find(|m| i64::from(m.value) == value);
                let member = member.expect("a case is a member");
                format!("{}.{}", self.type_name(id), member.name)
            }
            Discriminant::Signed | Discriminant::Unsigned => value.to_string(),
        }
    }

    /// The same as a type.
    fn case(&self, union: &Union, value: i64) -> String {
        let text = self.value(union, value);
        match Discriminant::of(self.schema, union) {
            Discriminant::Enum(..) => format!("typeof {text}"),
            _ => text,
        }
    }

    fn shown(&self, ty: &Type) -> String {
        self.module.spell(&TypeName(self.schema), ty)
    }

    fn codec(&self, ty: &Type) -> String {
        self.module.spell(&Codec(self.module), ty)
    }
}

fn codec_name(schema: &Schema, id: DefId) -> String {
    let name = own_name(schema.def(id));
    let (first, rest) = name.split_at(1);
    let name = first.to_ascii_lowercase() + rest;
    match name == RUNTIME || spelling::is_word(&name) {
        true => name + "_",
        false => name,
    }
}

/// The type of a value.
struct TypeName<'a>(&'a Schema);

impl Spelling for TypeName<'_> {
    const SEES_THROUGH_TYPEDEFS: bool = false;

    fn primitive(&self, primitive: Primitive) -> String {
        spelling::primitive_value(primitive).into()
    }

    fn named(&self, id: DefId) -> String {
        own_name(self.0.def(id))
    }

    fn fixed(&self, _size: u32) -> String {
        "Uint8Array".into()
    }

    fn bytes(&self, _bound: Option<u32>) -> String {
        "Uint8Array".into()
    }

    fn text(&self, _bound: Option<u32>) -> String {
        "string".into()
    }

    fn elements(&self, _count: u32, each: &Element<'_>) -> String {
        match each.ty {
            Type::Pointer(_) => format!("({})[]", each.text),
            _ => format!("{}[]", each.text),
        }
    }

    fn array(&self, _bound: Option<u32>, each: &Element<'_>) -> String {
        self.elements(0, each)
    }

    fn optional(&self, each: &Element<'_>) -> String {
        format!("{} | null", each.text)
    }

    fn inner(&self) -> Self {
        TypeName(self.0)
    }
}

/// The combinators that encode and decode a value.
struct Codec<'a>(&'a Module<'a>);

impl Spelling for Codec<'_> {
    const SEES_THROUGH_TYPEDEFS: bool = false;

    fn primitive(&self, primitive: Primitive) -> String {
        format!("xdr.{}", primitive_word(primitive))
    }

    /// A type that may contain itself may be named before it is defined.
    fn named(&self, id: DefId) -> String {
        let name = codec_name(self.0.schema, id);
        match self.0.is_recursive(id) {
            true => format!("xdr.lazy(() => {name})"),
            false => name,
        }
    }

    fn fixed(&self, size: u32) -> String {
        format!("xdr.fixed({size})")
    }

    fn bytes(&self, bound: Option<u32>) -> String {
        format!("xdr.opaque({})", limit(bound))
    }

    fn text(&self, bound: Option<u32>) -> String {
        format!("xdr.string({})", limit(bound))
    }

    fn elements(&self, count: u32, each: &Element<'_>) -> String {
        format!("xdr.elements({count}, {}, {})", each.least, each.text)
    }

    fn array(&self, bound: Option<u32>, each: &Element<'_>) -> String {
        let bound = limit(bound);
        format!("xdr.array({bound}, {}, {})", each.least, each.text)
    }

    fn optional(&self, each: &Element<'_>) -> String {
        format!("xdr.optional({})", each.text)
    }

    fn inner(&self) -> Self {
        Codec(self.0)
    }
}

fn limit(bound: Option<u32>) -> u32 {
    bound.unwrap_or(u32::MAX)
}
