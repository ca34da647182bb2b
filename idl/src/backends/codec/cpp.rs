//! The C++ codec: a header and a source per .x file, in namespace `iw::protocol`.

use super::Encodings;
use crate::backends::names::c_name;
use crate::backends::text::Text;
use crate::backends::{first_line, order, quoted, stem};
use crate::compile::{GeneratedFile, Unit};
use crate::diagnostics::{Diagnostic, Report};
use crate::ir::{Constant, Def, DefBody, DefId, Field, Member, Primitive, Schema, Type, Union};
use crate::source::{FileId, Span};
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

pub fn generate(unit: &Unit<'_>, report: &mut Report) -> Vec<(PathBuf, GeneratedFile)> {
    check_names(unit.schema, report);
    let encodings = Encodings::new(unit.schema);
    let mut files = Vec::new();
    for &file in unit.roots {
        let stem = stem(unit, file);
        let input = unit.sources.path(file).to_path_buf();
        let header = GeneratedFile {
            path: PathBuf::from(format!("{stem}.gen.h")),
            text: header_text(unit, &encodings, file),
        };
        let source = GeneratedFile {
            path: PathBuf::from(format!("{stem}.gen.cc")),
            text: source_text(unit, &encodings, file),
        };
        files.push((input.clone(), header));
        files.push((input, source));
    }
    files
}

/// All definitions meet in one C++ namespace.
fn check_names(schema: &Schema, report: &mut Report) {
    let mut seen: HashMap<String, Span> = HashMap::new();
    for def in &schema.defs {
        let name = c_name(&def.full_name("_"));
        if let Some(first) = seen.insert(name.clone(), def.span) {
            let message = format!("the name `{name}` is defined twice");
            report.error(Diagnostic::new(def.span, message).related(first, "first defined here"));
        }
    }
}

fn generator<'a>(unit: &Unit<'a>, encodings: &'a Encodings<'a>, file: FileId) -> Generator<'a> {
    let mut generator = Generator {
        schema: unit.schema,
        encodings,
        text: Text::new("  "),
    };
    generator
        .text
        .line(format!("// {}", first_line(unit, file)));
    generator.text.line("// clang-format off");
    generator.text.blank();
    generator
}

fn header_text(unit: &Unit<'_>, encodings: &Encodings<'_>, file: FileId) -> String {
    let mut generator = generator(unit, encodings, file);
    generator.text.line("#pragma once");
    generator.text.blank();
    let standard = ["array", "cstdint", "memory", "string", "vector"];
    generator
        .text
        .lines(standard.map(|name| format!("#include <{name}>")));
    generator.text.blank();
    let included: BTreeSet<String> = unit
        .includes
        .iter()
        .filter(|include| include.from == file && include.to != file)
        .map(|include| stem(unit, include.to))
        .collect();
    generator.text.lines(
        included
            .iter()
            .map(|stem| format!("#include \"{stem}.gen.h\"")),
    );
    generator.text.line("#include \"xdr.h\"");
    generator.text.blank();
    generator.text.line("namespace iw::protocol {");
    let ordered = order::definition_order(unit.schema, file, &encodings.cycles);
    generator.forward_declarations(&ordered);
    let mut after_constant = false;
    for id in ordered {
        let constant = matches!(unit.schema.def(id).body, DefBody::Const(_));
        if !(constant && after_constant) {
            generator.text.blank();
        }
        after_constant = constant;
        generator.declare(id);
    }
    generator.text.blank();
    generator.text.line("}  // namespace iw::protocol");
    generator.text.finish()
}

fn source_text(unit: &Unit<'_>, encodings: &Encodings<'_>, file: FileId) -> String {
    let mut generator = generator(unit, encodings, file);
    generator
        .text
        .line(format!("#include \"{}.gen.h\"", stem(unit, file)));
    generator.text.blank();
    generator.text.line("namespace iw::protocol {");
    for id in order::definition_order(unit.schema, file, &encodings.cycles) {
        generator.define(id);
    }
    generator.text.blank();
    generator.text.line("}  // namespace iw::protocol");
    generator.text.finish()
}

struct Generator<'a> {
    schema: &'a Schema,
    encodings: &'a Encodings<'a>,
    text: Text,
}

impl Generator<'_> {
    fn name(&self, id: DefId) -> String {
        c_name(&self.schema.def(id).full_name("_"))
    }

    /// Types that a pointer may name before they are defined.
    fn forward_declarations(&mut self, ordered: &[DefId]) {
        let recursive = |id: &&DefId| self.encodings.cycles.is_recursive(**id);
        let structs = ordered.iter().filter(recursive).filter(|id| {
            let body = &self.schema.def(**id).body;
            matches!(body, DefBody::Struct(_) | DefBody::Union(_))
        });
        let lines: Vec<String> = structs
            .map(|id| format!("struct {};", self.name(*id)))
            .collect();
        if !lines.is_empty() {
            self.text.blank();
            self.text.lines(lines);
        }
    }

    fn declare(&mut self, id: DefId) {
        let schema = self.schema;
        let def = schema.def(id);
        let name = self.name(id);
        self.text.comment("//", &def.doc);
        match &def.body {
            DefBody::Const(Constant::Text(text)) => {
                let text = quoted(text);
                self.text
                    .line(format!("inline constexpr char {name}[] = {text};"));
            }
            DefBody::Const(Constant::Number(value)) => {
                let (ty, value) = constant(*value);
                self.text
                    .line(format!("inline constexpr {ty} {name} = {value};"));
            }
            DefBody::Alias(ty) => {
                let target = self.type_name(ty);
                self.text.line(format!("using {name} = {target};"));
            }
            DefBody::Enum(members) => {
                self.text
                    .open(format!("enum class {name} : std::int32_t {{"));
                for member in members {
                    self.text.comment("//", &member.doc);
                    self.text.line(format!(
                        "{} = {},",
                        c_name(&member.name),
                        number(member.value)
                    ));
                }
                self.text.close("};");
                self.declare_codec(&name);
                self.text
                    .line("// The name in the .x file; \"?\" for a number that is not a member.");
                self.text
                    .line(format!("[[nodiscard]] const char* name_of({name} v);"));
            }
            DefBody::Struct(fields) => {
                self.text.open(format!("struct {name} {{"));
                let fields: Vec<&Field> = fields.iter().collect();
                self.members(id, def, &fields);
            }
            DefBody::Union(union) => {
                self.text.open(format!("struct {name} {{"));
                let fields = union_fields(union);
                self.members(id, def, &fields);
            }
        }
    }

    /// The members of a struct, of which a field may have the name of its own type.
    fn members(&mut self, id: DefId, def: &Def, fields: &[&Field]) {
        let names: BTreeSet<String> = fields.iter().map(|field| c_name(&field.name)).collect();
        for field in fields {
            self.text.comment("//", &field.doc);
            let name = c_name(&field.name);
            let ty = self.type_name_beside(&field.ty, &names);
            let initial = match self.is_initialised(&field.ty) {
                true => self.initial(&field.ty),
                false => String::new(),
            };
            self.text.line(format!("{ty} {name}{initial};"));
        }
        self.text.blank();
        let name = self.name(id);
        let own_equality = self.has_own_equality(id, def);
        let rest = if own_equality { "" } else { " = default" };
        self.text
            .line(format!("bool operator==(const {name}& other) const{rest};"));
        self.text.close("};");
        self.declare_codec(&name);
    }

    fn declare_codec(&mut self, name: &str) {
        self.text
            .line(format!("void encode(xdr::Writer& w, const {name}& v);"));
        self.text.line(format!(
            "[[nodiscard]] bool decode(xdr::Reader& r, {name}& v);"
        ));
    }

    /// The default of `==` compares pointers, and needs complete types.
    fn has_own_equality(&self, id: DefId, def: &Def) -> bool {
        let mut types = def.types().into_iter();
        self.encodings.cycles.is_recursive(id) || types.any(|ty| self.holds_pointer(ty))
    }

    fn holds_pointer(&self, ty: &Type) -> bool {
        match self.schema.resolve(ty) {
            Type::Pointer(_) => true,
            Type::Array(element, _) | Type::Sequence(element, _) => self.holds_pointer(element),
            _ => false,
        }
    }

    /// Containers of types that may still be incomplete get no initialiser: it
    /// would need their size.
    fn is_initialised(&self, ty: &Type) -> bool {
        match self.schema.resolve(ty) {
            Type::Pointer(_) => false,
            Type::Array(element, _) | Type::Sequence(element, _) => {
                let recursive = match self.schema.resolve(element) {
                    Type::Named(id) => self.encodings.cycles.is_recursive(*id),
                    _ => false,
                };
                !recursive && self.is_initialised(element)
            }
            _ => true,
        }
    }

    /// Zero, or an enum's first member, so that a value not filled in can still be encoded.
    fn initial(&self, ty: &Type) -> String {
        let Type::Named(id) = self.schema.resolve(ty) else {
            return "{}".into();
        };
        match &self.schema.def(*id).body {
            DefBody::Enum(members) => {
                format!(" = {}::{}", self.qualified(*id), c_name(&members[0].name))
            }
            _ => "{}".into(),
        }
    }

    fn define(&mut self, id: DefId) {
        let schema = self.schema;
        let def = schema.def(id);
        match &def.body {
            DefBody::Const(_) | DefBody::Alias(_) => {}
            DefBody::Enum(members) => self.define_enum(id, members),
            DefBody::Struct(fields) => {
                let fields: Vec<&Field> = fields.iter().collect();
                self.define_equality(id, def, &fields);
                self.define_struct(id, &fields);
            }
            DefBody::Union(union) => {
                self.define_equality(id, def, &union_fields(union));
                self.define_union(id, union);
            }
        }
    }

    fn define_enum(&mut self, id: DefId, members: &[Member]) {
        let name = self.name(id);
        let mut seen = BTreeSet::new();
        let distinct: Vec<&Member> = members.iter().filter(|m| seen.insert(m.value)).collect();
        self.text.blank();
        self.text
            .open(format!("void encode(xdr::Writer& w, const {name}& v) {{"));
        self.text.line("w.i32(static_cast<std::int32_t>(v));");
        self.text.close("}");
        self.text.blank();
        self.text
            .open(format!("bool decode(xdr::Reader& r, {name}& v) {{"));
        self.text.line("std::int32_t word = 0;");
        self.text.line("if (!r.i32(word)) return false;");
        self.text.open("switch (word) {");
        for member in &distinct {
            self.text.line(format!("case {}:", number(member.value)));
        }
        self.text.line(format!("  v = static_cast<{name}>(word);"));
        self.text.line("  return true;");
        self.text.line("default:");
        self.text
            .line("  return r.fail(\"a number is not a member of its enum\");");
        self.text.close("}");
        self.text.close("}");
        self.text.blank();
        self.text.open(format!("const char* name_of({name} v) {{"));
        self.text.open("switch (v) {");
        for member in &distinct {
            let case = format!("case {}::{}:", self.qualified(id), c_name(&member.name));
            self.text
                .line(format!("{case} return \"{}\";", member.name));
        }
        self.text.close("}");
        self.text.line("return \"?\";");
        self.text.close("}");
    }

    fn define_equality(&mut self, id: DefId, def: &Def, fields: &[&Field]) {
        if !self.has_own_equality(id, def) {
            return;
        }
        let name = self.name(id);
        let equal = |field: &&Field| {
            let member = c_name(&field.name);
            format!("xdr::same({member}, other.{member})")
        };
        let terms: Vec<String> = fields.iter().map(equal).collect();
        self.text.blank();
        self.text.open(format!(
            "bool {name}::operator==(const {name}& other) const {{"
        ));
        let line = format!("return {};", terms.join(" && "));
        self.text.broken_line(line, "xdr::same");
        self.text.close("}");
    }

    fn define_struct(&mut self, id: DefId, fields: &[&Field]) {
        let name = self.name(id);
        self.text.blank();
        self.text
            .open(format!("void encode(xdr::Writer& w, const {name}& v) {{"));
        for field in fields {
            let place = format!("v.{}", c_name(&field.name));
            let statement = self.encode(&field.ty, "w", &place, 0);
            self.text.broken_line(format!("{statement};"), "[](");
        }
        self.text.close("}");
        self.text.blank();
        self.text
            .open(format!("bool decode(xdr::Reader& r, {name}& v) {{"));
        let (before, after) = self.depth_limit(id);
        self.text.lines(before);
        let decode = |field: &&Field| {
            let place = format!("v.{}", c_name(&field.name));
            self.decode(&field.ty, "r", &place, 0)
        };
        let terms: Vec<String> = fields.iter().map(decode).collect();
        let separator = format!(" &&\n{}", " ".repeat(6));
        let terms = terms.join(&separator);
        let line = match after {
            true => format!("return r.leave({terms});"),
            false => format!("return {terms};"),
        };
        self.text.line(line);
        self.text.close("}");
    }

    /// A recursive type's decoder runs within the reader's depth limit.
    fn depth_limit(&self, id: DefId) -> (Option<&'static str>, bool) {
        match self.encodings.cycles.is_recursive(id) {
            true => (Some("if (!r.enter()) return false;"), true),
            false => (None, false),
        }
    }

    fn define_union(&mut self, id: DefId, union: &Union) {
        let name = self.name(id);
        let discriminant = c_name(&union.discriminant.name);
        let place = format!("v.{discriminant}");
        self.text.blank();
        self.text
            .open(format!("void encode(xdr::Writer& w, const {name}& v) {{"));
        let statement = self.encode(&union.discriminant.ty, "w", &place, 0);
        self.text.line(format!("{statement};"));
        self.arms(
            union,
            &place,
            |generator, field| {
                let place = format!("v.{}", c_name(&field.name));
                let statement = generator.encode(&field.ty, "w", &place, 0);
                vec![format!("{statement};"), "return;".into()]
            },
            "return;",
            "return;",
        );
        self.text.close("}");
        self.text.blank();
        self.text
            .open(format!("bool decode(xdr::Reader& r, {name}& v) {{"));
        self.text.line(format!("v = {name}{{}};"));
        let read = self.decode(&union.discriminant.ty, "r", &place, 0);
        self.text.line(format!("if (!{read}) return false;"));
        let (before, limited) = self.depth_limit(id);
        self.text.lines(before);
        let void = if limited {
            "return r.leave(true);"
        } else {
            "return true;"
        };
        let wrong = "r.fail(\"a discriminant selects no arm\")";
        let wrong = match limited {
            true => format!("return r.leave({wrong});"),
            false => format!("return {wrong};"),
        };
        self.arms(
            union,
            &place,
            |generator, field| {
                let place = format!("v.{}", c_name(&field.name));
                let value = generator.decode(&field.ty, "r", &place, 0);
                vec![match limited {
                    true => format!("return r.leave({value});"),
                    false => format!("return {value};"),
                }]
            },
            void,
            &wrong,
        );
        self.text.close("}");
    }

    /// A switch over the arms; `void` and `wrong` end the arms without and the values without one.
    fn arms(
        &mut self,
        union: &Union,
        place: &str,
        lines: impl Fn(&Self, &Field) -> Vec<String>,
        void: &str,
        wrong: &str,
    ) {
        self.text
            .open(format!("switch ({}) {{", self.switched(union, place)));
        for arm in &union.arms {
            for case in &arm.cases {
                self.text
                    .line(format!("case {}:", self.case_label(union, case.value)));
            }
            match &arm.field {
                Some(field) => {
                    let lines = lines(self, field);
                    self.text
                        .lines(lines.iter().map(|line| format!("  {line}")));
                }
                None => self.text.line(format!("  {void}")),
            }
        }
        self.text.line("default:");
        match union.default.as_ref().map(|arm| &arm.field) {
            Some(Some(field)) => {
                let lines = lines(self, field);
                self.text
                    .lines(lines.iter().map(|line| format!("  {line}")));
            }
            Some(None) => self.text.line(format!("  {void}")),
            None => self.text.line(format!("  {wrong}")),
        }
        self.text.close("}");
    }

    /// A switch over a bool would be an oddity; one over an enum must not
    /// complain of missing cases.
    fn switched(&self, union: &Union, place: &str) -> String {
        match self.schema.resolve(&union.discriminant.ty) {
            Type::Primitive(Primitive::UInt) => place.to_string(),
            _ => format!("static_cast<std::int32_t>({place})"),
        }
    }

    fn case_label(&self, union: &Union, value: i64) -> String {
        match self.schema.resolve(&union.discriminant.ty) {
            Type::Primitive(Primitive::UInt) => format!("{value}U"),
            _ => number(value as i32),
        }
    }

    fn qualified(&self, id: DefId) -> String {
        self.name(id)
    }

    fn type_name(&self, ty: &Type) -> String {
        self.type_name_beside(ty, &BTreeSet::new())
    }

    /// A type's name among members of which one may have the same name, and so would hide it.
    fn type_name_beside(&self, ty: &Type, members: &BTreeSet<String>) -> String {
        let inner = |ty: &Type| self.type_name_beside(ty, members);
        match ty {
            Type::Primitive(primitive) => primitive_name(*primitive).into(),
            Type::Named(id) => match self.name(*id) {
                name if members.contains(&name) => format!("protocol::{name}"),
                name => name,
            },
            Type::AnyPointer => unreachable!("refused by check()"),
            Type::Opaque(size) => format!("std::array<std::uint8_t, {size}>"),
            Type::OpaqueVar(_) => "std::vector<std::uint8_t>".into(),
            Type::String(_) => "std::string".into(),
            Type::Array(element, count) => format!("std::array<{}, {count}>", inner(element)),
            Type::Sequence(element, _) => format!("std::vector<{}>", inner(element)),
            Type::Pointer(target) => format!("std::unique_ptr<{}>", inner(target)),
        }
    }

    /// A call that writes `place` to `writer`. Names of lambdas' parameters tell their depth.
    fn encode(&self, ty: &Type, writer: &str, place: &str, depth: usize) -> String {
        let each = |inner: &Type| {
            let (to, item) = (format!("to{depth}"), format!("item{depth}"));
            let call = self.encode(inner, &to, &item, depth + 1);
            format!("[](xdr::Writer& {to}, const auto& {item}) {{ {call}; }}")
        };
        match self.schema.resolve(ty) {
            Type::AnyPointer => unreachable!("refused by check()"),
            Type::Primitive(Primitive::Quadruple) | Type::Opaque(_) => {
                format!("{writer}.fixed({place}.data(), {place}.size())")
            }
            Type::Primitive(primitive) => format!("{writer}.{}({place})", method(*primitive)),
            Type::Named(_) => format!("encode({writer}, {place})"),
            Type::OpaqueVar(bound) => {
                format!("xdr::put_opaque({writer}, {place}, {})", limit(bound))
            }
            Type::String(bound) => format!("xdr::put_string({writer}, {place}, {})", limit(bound)),
            Type::Array(element, _) => {
                format!("xdr::put_elements({writer}, {place}, {})", each(element))
            }
            Type::Sequence(element, bound) => {
                format!(
                    "xdr::put_array({writer}, {place}, {}, {})",
                    limit(bound),
                    each(element)
                )
            }
            Type::Pointer(target) => {
                format!("xdr::put_optional({writer}, {place}, {})", each(target))
            }
        }
    }

    /// An expression that reads `place` from `reader` and is true if that went well.
    fn decode(&self, ty: &Type, reader: &str, place: &str, depth: usize) -> String {
        let each = |inner: &Type| {
            let (from, item) = (format!("from{depth}"), format!("item{depth}"));
            let call = self.decode(inner, &from, &item, depth + 1);
            format!("[](xdr::Reader& {from}, auto& {item}) {{ return {call}; }}")
        };
        match self.schema.resolve(ty) {
            Type::AnyPointer => unreachable!("refused by check()"),
            Type::Primitive(Primitive::Quadruple) | Type::Opaque(_) => {
                format!("{reader}.fixed({place}.data(), {place}.size())")
            }
            Type::Primitive(primitive) => format!("{reader}.{}({place})", method(*primitive)),
            Type::Named(_) => format!("decode({reader}, {place})"),
            Type::OpaqueVar(bound) => {
                format!("xdr::get_opaque({reader}, {place}, {})", limit(bound))
            }
            Type::String(bound) => format!("xdr::get_string({reader}, {place}, {})", limit(bound)),
            Type::Array(element, _) => {
                format!("xdr::get_elements({reader}, {place}, {})", each(element))
            }
            Type::Sequence(element, bound) => {
                let least = self.encodings.least_bytes(element);
                let each = each(element);
                format!(
                    "xdr::get_array({reader}, {place}, {}, {least}U, {each})",
                    limit(bound)
                )
            }
            Type::Pointer(target) => {
                format!("xdr::get_optional({reader}, {place}, {})", each(target))
            }
        }
    }
}

/// The members of a union's struct: the discriminant and every arm's own.
fn union_fields(union: &Union) -> Vec<&Field> {
    let arms = union.arms.iter().chain(&union.default);
    std::iter::once(&union.discriminant)
        .chain(arms.filter_map(|arm| arm.field.as_ref()))
        .collect()
}

pub(super) fn primitive_name(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Char => "std::int8_t",
        Primitive::UChar => "std::uint8_t",
        Primitive::Short => "std::int16_t",
        Primitive::UShort => "std::uint16_t",
        Primitive::Int => "std::int32_t",
        Primitive::UInt => "std::uint32_t",
        Primitive::Hyper => "std::int64_t",
        Primitive::UHyper => "std::uint64_t",
        Primitive::Float => "float",
        Primitive::Double => "double",
        Primitive::Quadruple => "std::array<std::uint8_t, 16>",
        Primitive::Bool => "bool",
    }
}

/// The runtime's method for a primitive.
fn method(primitive: Primitive) -> &'static str {
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
        Primitive::Quadruple => "fixed",
        Primitive::Bool => "boolean",
    }
}

/// The least negative number has no literal of its own.
fn number(value: i32) -> String {
    match value {
        i32::MIN => "(-2147483647 - 1)".into(),
        value => value.to_string(),
    }
}

pub(super) fn constant(value: i128) -> (&'static str, String) {
    match value {
        0..=0xffff_ffff => ("std::uint32_t", format!("{value}U")),
        0x1_0000_0000.. => ("std::uint64_t", format!("{value}ULL")),
        -0x7fff_ffff..=-1 => ("std::int32_t", value.to_string()),
        -0x7fff_ffff_ffff_ffff..=-0x8000_0000 => ("std::int64_t", format!("{value}LL")),
        _ => ("std::int64_t", "(-9223372036854775807LL - 1)".into()),
    }
}

fn limit(bound: &Option<u32>) -> String {
    match bound {
        Some(bound) => format!("{bound}U"),
        None => "xdr::kNoBound".into(),
    }
}
