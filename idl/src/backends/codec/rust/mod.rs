//! The Rust codec: one module per .x file, and the `mod.rs` that lists them.

mod spelling;

use super::walk::{self, distinct, Discriminant, Module, RUNTIME};
use crate::backends::definitions::{self, Definitions};
use crate::backends::first_line;
use crate::backends::names::{self, rust_field, rust_type, rust_variant};
use crate::backends::stem;
use crate::backends::text::Text;
use crate::compile::{GeneratedFile, Unit, GENERATED_MARK};
use crate::diagnostics::Report;
use crate::ir::{Arm, Constant, Def, DefBody, DefId, Field, Member, Type, Union};
use spelling::{Decode, Encode, TypeName};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

pub fn generate(unit: &Unit<'_>, report: &mut Report) -> Vec<(PathBuf, GeneratedFile)> {
    walk::check_names(unit.schema, "Rust", own_name, report);
    walk::check_stems(unit, rust_field, report);
    let mut modules = vec![RUNTIME.to_string()];
    let mut files = walk::files(unit, |module| {
        let name = rust_field(&module.stem);
        let file = (format!("{name}.rs"), module_text(module));
        modules.push(name);
        vec![file]
    });
    modules.sort();
    files.push(walk::index("mod.rs", index_text(&modules)));
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

fn own_name(def: &Def) -> String {
    match def.body {
        DefBody::Const(_) => names::rust_constant(&def.name),
        _ => rust_type(&def.name),
    }
}

fn module_text(module: &Module<'_>) -> String {
    let mut generator = Generator {
        module,
        text: Text::new("    "),
    };
    let text = &mut generator.text;
    text.line(format!("//! {}", first_line(module.unit, module.file)));
    text.blank();
    text.line(
        "#![allow(clippy::all, rustdoc::broken_intra_doc_links, rustdoc::invalid_html_tags)]",
    );
    text.blank();
    generator.imports();
    definitions::write(
        module.schema,
        module.schema.of_file(module.file),
        &mut generator,
    );
    generator.text.finish()
}

struct Generator<'a> {
    module: &'a Module<'a>,
    text: Text,
}

impl Definitions for Generator<'_> {
    fn separator(&mut self) {
        self.text.blank();
    }

    fn comment(&mut self, doc: &Option<String>) {
        self.text.comment("///", doc);
    }

    fn constant(&mut self, id: DefId, value: &Constant) {
        let name = own_name(self.module.schema.def(id));
        self.text.line(match value {
            Constant::Text(text) => format!("pub const {name}: &str = {text:?};"),
            Constant::Number(value) => {
                format!("pub const {name}: {} = {value};", constant_type(*value))
            }
        });
    }

    fn alias(&mut self, id: DefId, target: &Type) {
        let (name, target) = (self.name(id), self.type_name(target));
        self.text.line(format!("pub type {name} = {target};"));
    }

    fn enumeration(&mut self, id: DefId, members: &[Member]) {
        let def = self.module.schema.def(id);
        let name = self.name(id);
        let variants = enum_variants(def, members);
        // Rust cannot have two variants of one value.
        let (members, repeated) = distinct(members);
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

    fn structure(&mut self, id: DefId, fields: &[Field]) {
        let name = self.name(id);
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
            let statement = self.encode(&field.ty, Encode::place(&place));
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

    fn union(&mut self, id: DefId, union: &Union) {
        let name = self.name(id);
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
}

impl Generator<'_> {
    /// Only what the module uses, so that nothing is imported in vain.
    fn imports(&mut self) {
        let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for id in self.module.foreign(true) {
            let home = stem(self.module.unit, self.module.schema.def(id).file);
            let names = used.entry(rust_field(&home)).or_default();
            names.insert(self.name(id));
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
        let is_coded = |body: &DefBody| !matches!(body, DefBody::Const(_) | DefBody::Alias(_));
        if self.module.has(is_coded) {
            self.text.line("#[allow(unused_imports)]");
            self.text
                .line("use super::xdr::{self, Reader, Xdr, XdrError};");
        }
    }

    fn name(&self, id: DefId) -> String {
        rust_type(&self.module.schema.def(id).name)
    }

    fn type_name(&self, ty: &Type) -> String {
        self.module.spell(&TypeName(self.module.schema), ty)
    }

    fn encode(&self, ty: &Type, how: Encode<'_>) -> String {
        self.module.spell(&how, ty)
    }

    /// An expression that reads a value, or returns with the error.
    fn decode(&self, ty: &Type) -> String {
        let result = self.module.spell(&Decode(self.module.schema), ty);
        format!("{result}?")
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

    /// A recursive type's decoder runs within the reader's depth limit.
    fn open_nested(&mut self, id: DefId) {
        if self.module.is_recursive(id) {
            self.text.open("r.nested(|r| {");
        }
    }

    fn close_nested(&mut self, id: DefId) {
        if self.module.is_recursive(id) {
            self.text.close("})");
        }
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
                    let statement = self.encode(&field.ty, Encode::reference("value"));
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
        let discriminant = match Discriminant::of(self.module.schema, union) {
            Discriminant::Enum(id, _) => format!("{}::decode(r)? as i32", self.name(id)),
            Discriminant::Bool => "i32::from(bool::decode(r)?)".into(),
            Discriminant::Signed | Discriminant::Unsigned => "i32::decode(r)?".into(),
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
        let schema = self.module.schema;
        let named: HashMap<i32, String> = match Discriminant::of(schema, union) {
            Discriminant::Enum(id, members) => enum_variants(schema.def(id), members),
            Discriminant::Bool => [(0, "False".into()), (1, "True".into())].into(),
            Discriminant::Signed | Discriminant::Unsigned => HashMap::new(),
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
}

/// One arm under one of its cases; the default arm has none.
struct Variant<'a> {
    name: String,
    case: Option<i32>,
    arm: &'a Arm,
}

/// The variant of each value: the member's name without what all members begin with.
fn enum_variants(def: &Def, members: &[Member]) -> HashMap<i32, String> {
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    let prefix = names::common_prefix(&def.name, &names);
    let (members, _) = distinct(members);
    let variant = |member: &&Member| (member.value, rust_variant(&member.name[prefix..]));
    members.iter().map(variant).collect()
}

fn constant_type(value: i128) -> &'static str {
    match value {
        0..=0xffff_ffff => "u32",
        0x1_0000_0000.. => "u64",
        -0x8000_0000..=-1 => "i32",
        _ => "i64",
    }
}
