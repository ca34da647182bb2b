//! The Rust codec: one module per .x file, and the `mod.rs` that lists them.

use super::Encodings;
use crate::backends::names::{self, rust_field, rust_type, rust_variant};
use crate::backends::text::Text;
use crate::backends::{first_line, order, stem};
use crate::compile::{GeneratedFile, Unit, GENERATED_MARK};
use crate::diagnostics::{Diagnostic, Report};
use crate::ir::{
    Arm, Constant, Def, DefBody, DefId, Field, Member, Primitive, Schema, Type, Union,
};
use crate::source::{FileId, Span};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

const RUNTIME: &str = "xdr";

pub fn generate(unit: &Unit<'_>, report: &mut Report) -> Vec<(PathBuf, GeneratedFile)> {
    check_names(unit.schema, report);
    let encodings = Encodings::new(unit.schema);
    let mut files = Vec::new();
    let mut modules = vec![RUNTIME.to_string()];
    for &file in unit.roots {
        let module = rust_field(&stem(unit, file));
        if module == RUNTIME {
            let message = "the name `xdr.x` is taken by the codec's runtime";
            report.error(Diagnostic::global(message));
        }
        let generated = GeneratedFile {
            path: PathBuf::from(format!("{module}.rs")),
            text: module_text(unit, &encodings, file),
        };
        files.push((unit.sources.path(file).to_path_buf(), generated));
        modules.push(module);
    }
    modules.sort();
    let index = GeneratedFile {
        path: PathBuf::from("mod.rs"),
        text: index_text(&modules),
    };
    files.push((PathBuf::from("mod.rs"), index));
    files
}

fn index_text(modules: &[String]) -> String {
    let mut text = Text::new("    ");
    text.line(format!(
        "//! {GENERATED_MARK} from the .x files of these modules; do not edit."
    ));
    text.blank();
    for module in modules {
        if module != RUNTIME {
            text.line("#[rustfmt::skip]");
        }
        text.line(format!("pub mod {module};"));
    }
    text.blank();
    for module in modules.iter().filter(|module| *module != RUNTIME) {
        text.line(format!("pub use {module}::*;"));
    }
    text.finish()
}

/// Names that differ in XDR may be one in Rust's style.
fn check_names(schema: &Schema, report: &mut Report) {
    let mut seen: HashMap<String, Span> = HashMap::new();
    for def in &schema.defs {
        let name = match def.body {
            DefBody::Const(_) => names::rust_constant(&def.name),
            _ => rust_type(&def.name),
        };
        if let Some(first) = seen.insert(name.clone(), def.span) {
            let message = format!("`{}` becomes `{name}` in Rust, which is taken", def.name);
            report.error(Diagnostic::new(def.span, message).related(first, "by this definition"));
        }
    }
}

fn module_text(unit: &Unit<'_>, encodings: &Encodings<'_>, file: FileId) -> String {
    let mut generator = Generator {
        schema: unit.schema,
        encodings,
        text: Text::new("    "),
    };
    let text = &mut generator.text;
    text.line(format!("//! {}", first_line(unit, file)));
    text.blank();
    text.line(
        "#![allow(clippy::all, rustdoc::broken_intra_doc_links, rustdoc::invalid_html_tags)]",
    );
    text.blank();
    generator.imports(unit, file);
    let mut after_constant = false;
    for id in unit.schema.of_file(file) {
        let constant = matches!(unit.schema.def(id).body, DefBody::Const(_));
        if !(constant && after_constant) {
            generator.text.blank();
        }
        after_constant = constant;
        generator.definition(id);
    }
    generator.text.finish()
}

struct Generator<'a> {
    schema: &'a Schema,
    encodings: &'a Encodings<'a>,
    text: Text,
}

impl Generator<'_> {
    /// Only what the module uses, so that nothing is imported in vain.
    fn imports(&mut self, unit: &Unit<'_>, file: FileId) {
        let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut codes = false;
        for id in self.schema.of_file(file) {
            let def = self.schema.def(id);
            codes |= !matches!(def.body, DefBody::Const(_) | DefBody::Alias(_));
            // Coding a typedef means coding what it stands for, which may be another file's.
            let mut mentioned = order::mentioned(def);
            while let Some(id) = mentioned.pop() {
                let other = self.schema.def(id);
                if other.file != file {
                    let module = rust_field(&stem(unit, other.file));
                    used.entry(module)
                        .or_default()
                        .insert(rust_type(&other.name));
                }
                if matches!(other.body, DefBody::Alias(_)) {
                    mentioned.extend(order::mentioned(other));
                }
            }
        }
        for (module, names) in used {
            let names: Vec<String> = names.into_iter().collect();
            self.text.line("#[allow(unused_imports)]");
            let list = match names.as_slice() {
                [only] => only.clone(),
                several => format!("{{{}}}", several.join(", ")),
            };
            self.text.line(format!("use super::{module}::{list};"));
        }
        if codes {
            self.text.line("#[allow(unused_imports)]");
            self.text
                .line("use super::xdr::{self, Reader, Xdr, XdrError};");
        }
    }

    fn definition(&mut self, id: DefId) {
        let schema = self.schema;
        let def = schema.def(id);
        self.text.comment("///", &def.doc);
        match &def.body {
            DefBody::Const(Constant::Text(text)) => {
                let name = names::rust_constant(&def.name);
                self.text
                    .line(format!("pub const {name}: &str = {text:?};"));
            }
            DefBody::Const(Constant::Number(value)) => {
                let ty = constant_type(*value);
                let name = names::rust_constant(&def.name);
                self.text.line(format!("pub const {name}: {ty} = {value};"));
            }
            DefBody::Alias(ty) => {
                let target = self.type_name(ty);
                self.text
                    .line(format!("pub type {} = {target};", rust_type(&def.name)));
            }
            DefBody::Enum(members) => self.enumeration(def, members),
            DefBody::Struct(fields) => self.structure(id, def, fields),
            DefBody::Union(union) => self.union(id, def, union),
        }
    }

    fn enumeration(&mut self, def: &Def, members: &[Member]) {
        let name = rust_type(&def.name);
        let (members, repeated) = distinct(members);
        let variants = enum_variants(def);
        self.text
            .line("#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]");
        self.text.line("#[repr(i32)]");
        self.text.open(format!("pub enum {name} {{"));
        for member in &members {
            self.text.comment("///", &member.doc);
            let variant = &variants[&member.value];
            self.text.line(format!("{variant} = {},", member.value));
        }
        self.text.close("}");
        self.text.blank();
        self.text.open(format!("impl {name} {{"));
        for member in repeated {
            let constant = names::rust_constant(&member.name);
            let variant = &variants[&member.value];
            self.text
                .line(format!("pub const {constant}: Self = Self::{variant};"));
        }
        self.text.line("/// The name in the .x file.");
        self.text.open("pub fn name(self) -> &'static str {");
        self.text.open("match self {");
        for member in &members {
            let variant = &variants[&member.value];
            self.text
                .line(format!("Self::{variant} => \"{}\",", member.name));
        }
        self.text.close("}");
        self.text.close("}");
        self.text.close("}");
        self.text.blank();
        self.enum_codec(&name, &members, &variants);
    }

    fn enum_codec(&mut self, name: &str, members: &[&Member], variants: &HashMap<i32, String>) {
        let text = &mut self.text;
        text.open(format!("impl TryFrom<i32> for {name} {{"));
        text.line("type Error = XdrError;");
        text.blank();
        text.open("fn try_from(value: i32) -> Result<Self, XdrError> {");
        text.open("match value {");
        for member in members {
            text.line(format!(
                "{} => Ok(Self::{}),",
                member.value, variants[&member.value]
            ));
        }
        text.line("_ => Err(XdrError::BadEnum),");
        text.close("}");
        text.close("}");
        text.close("}");
        text.blank();
        text.open(format!("impl Xdr for {name} {{"));
        text.open("fn encode(&self, out: &mut Vec<u8>) {");
        text.line("(*self as i32).encode(out);");
        text.close("}");
        text.blank();
        text.open("fn decode(r: &mut Reader<'_>) -> Result<Self, XdrError> {");
        text.line("Self::try_from(i32::decode(r)?)");
        text.close("}");
        text.close("}");
    }

    fn structure(&mut self, id: DefId, def: &Def, fields: &[Field]) {
        let name = rust_type(&def.name);
        self.text.line("#[derive(Debug, Clone, PartialEq)]");
        self.text.open(format!("pub struct {name} {{"));
        for field in fields {
            self.text.comment("///", &field.doc);
            let ty = self.type_name(&field.ty);
            self.text
                .line(format!("pub {}: {ty},", rust_field(&field.name)));
        }
        self.text.close("}");
        self.text.blank();
        self.text.open(format!("impl Xdr for {name} {{"));
        self.text.open("fn encode(&self, out: &mut Vec<u8>) {");
        for field in fields {
            let place = format!("self.{}", rust_field(&field.name));
            let statement = self.encode(&field.ty, &place, false);
            self.text
                .broken_line(format!("{statement};"), "|item, out| ");
        }
        self.text.close("}");
        self.text.blank();
        self.text
            .open("fn decode(r: &mut Reader<'_>) -> Result<Self, XdrError> {");
        self.open_nested(id);
        self.text.open("Ok(Self {");
        for field in fields {
            let value = self.decode(&field.ty);
            let line = format!("{}: {value},", rust_field(&field.name));
            self.text.broken_line(line, "|r| ");
        }
        self.text.close("})");
        self.close_nested(id);
        self.text.close("}");
        self.text.close("}");
    }

    /// A recursive type's decoder runs within the reader's depth limit.
    fn open_nested(&mut self, id: DefId) {
        if self.encodings.cycles.is_recursive(id) {
            self.text.open("r.nested(|r| {");
        }
    }

    fn close_nested(&mut self, id: DefId) {
        if self.encodings.cycles.is_recursive(id) {
            self.text.close("})");
        }
    }

    fn union(&mut self, id: DefId, def: &Def, union: &Union) {
        let name = rust_type(&def.name);
        let variants = self.union_variants(union);
        self.text.line("#[derive(Debug, Clone, PartialEq)]");
        self.text.open(format!("pub enum {name} {{"));
        for variant in &variants {
            self.text.comment("///", &variant.arm.doc);
            let payload = variant
                .arm
                .field
                .as_ref()
                .map(|field| self.type_name(&field.ty));
            let line = match (&variant.case, payload) {
                (Some(_), Some(payload)) => format!("{}({payload}),", variant.name),
                (Some(_), None) => format!("{},", variant.name),
                (None, Some(payload)) => format!("{}(i32, {payload}),", variant.name),
                (None, None) => format!("{}(i32),", variant.name),
            };
            self.text.line(line);
        }
        self.text.close("}");
        self.text.blank();
        self.discriminant(&name, &variants);
        self.text.blank();
        self.text.open(format!("impl Xdr for {name} {{"));
        self.union_encode(&variants);
        self.text.blank();
        self.union_decode(id, union, &variants);
        self.text.close("}");
    }

    fn discriminant(&mut self, name: &str, variants: &[Variant<'_>]) {
        self.text.open(format!("impl {name} {{"));
        self.text.line("/// The number that selects this arm.");
        self.text.open("pub fn discriminant(&self) -> i32 {");
        self.text.open("match self {");
        for variant in variants {
            let line = match (variant.case, &variant.arm.field) {
                (Some(case), Some(_)) => format!("Self::{}(..) => {case},", variant.name),
                (Some(case), None) => format!("Self::{} => {case},", variant.name),
                (None, _) => format!("Self::{}(other, ..) => *other,", variant.name),
            };
            self.text.line(line);
        }
        self.text.close("}");
        self.text.close("}");
        self.text.close("}");
    }

    fn union_encode(&mut self, variants: &[Variant<'_>]) {
        self.text.open("fn encode(&self, out: &mut Vec<u8>) {");
        self.text.line("self.discriminant().encode(out);");
        self.text.open("match self {");
        for variant in variants {
            let name = &variant.name;
            let line = match (variant.case, &variant.arm.field) {
                (Some(_), None) => format!("Self::{name} => {{}}"),
                (None, None) => format!("Self::{name}(_) => {{}}"),
                (case, Some(field)) => {
                    let skipped = if case.is_some() { "" } else { "_, " };
                    let statement = self.encode(&field.ty, "value", true);
                    format!("Self::{name}({skipped}value) => {statement},")
                }
            };
            self.text.line(line);
        }
        self.text.close("}");
        self.text.close("}");
    }

    fn union_decode(&mut self, id: DefId, union: &Union, variants: &[Variant<'_>]) {
        self.text
            .open("fn decode(r: &mut Reader<'_>) -> Result<Self, XdrError> {");
        self.open_nested(id);
        let discriminant = match self.schema.resolve(&union.discriminant.ty) {
            Type::Named(id) => format!(
                "{}::decode(r)? as i32",
                rust_type(&self.schema.def(*id).name)
            ),
            Type::Primitive(Primitive::Bool) => "i32::from(bool::decode(r)?)".into(),
            _ => "i32::decode(r)?".into(),
        };
        self.text.open(format!("match {discriminant} {{"));
        for variant in variants {
            let payload = variant
                .arm
                .field
                .as_ref()
                .map(|field| self.decode(&field.ty));
            let name = &variant.name;
            let line = match (variant.case, payload) {
                (Some(case), Some(payload)) => format!("{case} => Ok(Self::{name}({payload})),"),
                (Some(case), None) => format!("{case} => Ok(Self::{name}),"),
                (None, Some(payload)) => format!("other => Ok(Self::{name}(other, {payload})),"),
                (None, None) => format!("other => Ok(Self::{name}(other)),"),
            };
            self.text.line(line);
        }
        if union.default.is_none() {
            self.text.line("_ => Err(XdrError::BadDiscriminant),");
        }
        self.text.close("}");
        self.close_nested(id);
        self.text.close("}");
    }

    fn union_variants<'u>(&self, union: &'u Union) -> Vec<Variant<'u>> {
        let named: HashMap<i32, String> = match self.schema.resolve(&union.discriminant.ty) {
            Type::Named(id) => enum_variants(self.schema.def(*id)),
            Type::Primitive(Primitive::Bool) => [(0, "False".into()), (1, "True".into())].into(),
            _ => HashMap::new(),
        };
        let mut variants = Vec::new();
        for arm in &union.arms {
            for case in &arm.cases {
                // An unsigned discriminant above 2^31 is kept by its bits, as on the wire.
                let value = case.value as i32;
                let name = match (named.get(&value), &case.name) {
                    (Some(name), _) => name.clone(),
                    (None, Some(name)) => rust_variant(name),
                    (None, None) if case.value < 0 => format!("Minus{}", -case.value),
                    (None, None) => format!("Case{}", case.value),
                };
                variants.push(Variant {
                    name,
                    case: Some(value),
                    arm,
                });
            }
        }
        if let Some(arm) = &union.default {
            let taken = variants.iter().any(|variant| variant.name == "Other");
            let name = if taken { "Default" } else { "Other" };
            variants.push(Variant {
                name: name.into(),
                case: None,
                arm,
            });
        }
        variants
    }

    fn type_name(&self, ty: &Type) -> String {
        match ty {
            Type::Primitive(primitive) => primitive_name(*primitive).into(),
            Type::Named(id) => rust_type(&self.schema.def(*id).name),
            Type::AnyPointer => unreachable!("refused by check()"),
            Type::Opaque(size) => format!("[u8; {size}]"),
            Type::OpaqueVar(_) => "Vec<u8>".into(),
            Type::String(_) => "String".into(),
            Type::Array(element, count) => format!("[{}; {count}]", self.type_name(element)),
            Type::Sequence(element, _) => format!("Vec<{}>", self.type_name(element)),
            Type::Pointer(target) => format!("Option<Box<{}>>", self.type_name(target)),
        }
    }

    /// An expression that writes `place`, which is a reference already or not.
    fn encode(&self, ty: &Type, place: &str, reference: bool) -> String {
        let borrowed = match reference {
            true => place.to_string(),
            false => format!("&{place}"),
        };
        let each = |inner: &Type| format!("|item, out| {}", self.encode(inner, "item", true));
        match self.schema.resolve(ty) {
            Type::AnyPointer => unreachable!("refused by check()"),
            Type::Primitive(Primitive::Quadruple) | Type::Opaque(_) => {
                format!("xdr::put_fixed({borrowed}, out)")
            }
            Type::Primitive(_) | Type::Named(_) => format!("{place}.encode(out)"),
            Type::OpaqueVar(bound) => format!("xdr::put_opaque({borrowed}, {}, out)", limit(bound)),
            Type::String(bound) => format!("xdr::put_string({borrowed}, {}, out)", limit(bound)),
            Type::Array(element, _) => {
                format!("xdr::put_elements({borrowed}, out, {})", each(element))
            }
            Type::Sequence(element, bound) => {
                format!(
                    "xdr::put_array({borrowed}, {}, out, {})",
                    limit(bound),
                    each(element)
                )
            }
            Type::Pointer(target) => {
                format!("xdr::put_optional({borrowed}, out, {})", each(target))
            }
        }
    }

    /// An expression that reads a value, or returns with the error.
    fn decode(&self, ty: &Type) -> String {
        format!("{}?", self.decode_result(ty))
    }

    fn decode_result(&self, ty: &Type) -> String {
        let each = |inner: &Type| format!("|r| {}", self.decode_result(inner));
        match self.schema.resolve(ty) {
            Type::AnyPointer => unreachable!("refused by check()"),
            Type::Primitive(Primitive::Quadruple) => "r.fixed::<16>()".into(),
            Type::Primitive(primitive) => format!("{}::decode(r)", primitive_name(*primitive)),
            Type::Named(id) => format!("{}::decode(r)", rust_type(&self.schema.def(*id).name)),
            Type::Opaque(size) => format!("r.fixed::<{size}>()"),
            Type::OpaqueVar(bound) => format!("r.opaque({})", limit(bound)),
            Type::String(bound) => format!("r.string({})", limit(bound)),
            Type::Array(element, _) => {
                format!(
                    "r.elements({}, {})",
                    self.encodings.least_bytes(element),
                    each(element)
                )
            }
            Type::Sequence(element, bound) => {
                let least = self.encodings.least_bytes(element);
                format!("r.array({}, {least}, {})", limit(bound), each(element))
            }
            Type::Pointer(target) => format!("r.optional({})", each(target)),
        }
    }
}

/// One arm under one of its cases; the default arm has none.
struct Variant<'a> {
    name: String,
    case: Option<i32>,
    arm: &'a Arm,
}

/// The members with a value of their own, and those that repeat one, which Rust cannot have twice.
fn distinct(members: &[Member]) -> (Vec<&Member>, Vec<&Member>) {
    let mut seen = BTreeSet::new();
    members.iter().partition(|member| seen.insert(member.value))
}

/// The variant of each value: the member's name without what all members begin with.
fn enum_variants(def: &Def) -> HashMap<i32, String> {
    let DefBody::Enum(members) = &def.body else {
        return HashMap::new();
    };
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    let prefix = names::common_prefix(&def.name, &names);
    let (members, _) = distinct(members);
    let variant = |member: &&Member| (member.value, rust_variant(&member.name[prefix..]));
    members.iter().map(variant).collect()
}

fn primitive_name(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Char => "i8",
        Primitive::UChar => "u8",
        Primitive::Short => "i16",
        Primitive::UShort => "u16",
        Primitive::Int => "i32",
        Primitive::UInt => "u32",
        Primitive::Hyper => "i64",
        Primitive::UHyper => "u64",
        Primitive::Float => "f32",
        Primitive::Double => "f64",
        Primitive::Quadruple => "[u8; 16]",
        Primitive::Bool => "bool",
    }
}

fn constant_type(value: i128) -> &'static str {
    match value {
        0..=0xffff_ffff => "u32",
        0x1_0000_0000.. => "u64",
        -0x8000_0000..=-1 => "i32",
        _ => "i64",
    }
}

fn limit(bound: &Option<u32>) -> String {
    bound.unwrap_or(u32::MAX).to_string()
}
