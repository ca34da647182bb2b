//! C++ structs of the messages that a cluster's processes read in place: little-endian, each number
//! at a multiple of its size, no byte that no field names.
//!
//! A file belongs to a room of cluster/, which is its folder and its namespace in C++. It is the
//! room of the file's name, which then begins each of its names (`am_head`, `AM_WORDS_MAX`;
//! `iw::am::Head`, `iw::am::words_max`). Or it is the namespace around all of the file's
//! definitions, and the names stand for themselves.
//!
//! An enum's name begins each of its members. A constant STRUCT_FIELD_MAX bounds that field, and a
//! constant STRUCT_FIELD_DEFAULT is what the field is in a new struct. A struct whose last field is
//! of variable size is a message of known fields and then bytes up to its end.
//!
//! The runtime that generated code leans on is `cluster/fabric/codec.h`.

use super::walk::{self, Element, Module, Spelling};
use crate::backends::definitions::{self, Definitions};
use crate::backends::names::{c_name, rust_type};
use crate::backends::text::Text;
use crate::backends::{first_line, stem};
use crate::compile::{GeneratedFile, Unit};
use crate::diagnostics::{Diagnostic, Report};
use crate::ir::{Constant, Def, DefBody, DefId, Field, Member, Primitive, Schema, Type, Union};
use crate::source::{FileId, Span};
use std::collections::BTreeSet;
use std::path::PathBuf;

pub fn generate(unit: &Unit<'_>, report: &mut Report) -> Vec<(PathBuf, GeneratedFile)> {
    walk::files(unit, |module| {
        let mut generator = Generator {
            module,
            room: room_of(unit, module.schema, module.file),
            schema: module.schema,
            text: Text::new("  "),
            report,
        };
        generator.header();
        let path = header_path(unit, module.schema, module.file);
        vec![(path, generator.text.finish())]
    })
}

/// Where a value lies: how many bytes it takes, and at multiples of how many.
#[derive(Clone, Copy)]
struct Shape {
    bytes: u64,
    grain: u64,
}

/// A field of fixed size, and where it begins.
struct Placed<'a> {
    field: &'a Field,
    at: u64,
}

/// The fields of a struct; `rest` is the last one if its size varies.
struct Fields<'a> {
    fixed: Vec<Placed<'a>>,
    rest: Option<(&'a Field, u32)>,
    bytes: u64,
}

struct Generator<'a, 'r> {
    module: &'a Module<'a>,
    schema: &'a Schema,
    room: String,
    text: Text,
    report: &'r mut Report,
}

impl Definitions for Generator<'_, '_> {
    fn separator(&mut self) {
        self.text.blank();
    }

    fn comment(&mut self, doc: &Option<String>) {
        self.text.comment("//", doc);
    }

    fn constant(&mut self, id: DefId, value: &Constant) {
        let def = self.schema.def(id);
        let name = self.check_own_name(def);
        let Constant::Number(value) = value else {
            return self.refuse(def.span, "only numbers are constants here");
        };
        self.check_field_named(def);
        let (ty, value) = constant(*value);
        self.text
            .line(format!("inline constexpr {ty} {name} = {value};"));
    }

    fn alias(&mut self, id: DefId, target: &Type) {
        let def = self.schema.def(id);
        let name = self.check_own_name(def);
        match self.shape(target, def.span) {
            Some(_) => {
                let target = self.type_name(target);
                self.text.line(format!("using {name} = {target};"));
            }
            None => self.refuse(def.span, "another name is for a type of fixed size"),
        }
    }

    fn enumeration(&mut self, id: DefId, members: &[Member]) {
        let def = self.schema.def(id);
        let name = self.check_own_name(def);
        self.define_enum(def, &name, members);
    }

    fn structure(&mut self, id: DefId, fields: &[Field]) {
        let def = self.schema.def(id);
        let name = self.check_own_name(def);
        self.define_struct(def, &name, fields);
    }

    fn union(&mut self, id: DefId, _union: &Union) {
        let def = self.schema.def(id);
        self.check_own_name(def);
        self.refuse(def.span, "a union cannot be read in place");
    }
}

impl Generator<'_, '_> {
    fn header(&mut self) {
        let module = self.module;
        let first = first_line(module.unit, module.file);
        self.text.line(format!("// {first}"));
        self.text.line("// clang-format off");
        self.text.line("#pragma once");
        self.text.blank();
        let standard = [
            "algorithm",
            "array",
            "cstddef",
            "cstdint",
            "cstring",
            "span",
            "string_view",
            "vector",
        ];
        self.text
            .lines(standard.map(|name| format!("#include <{name}>")));
        self.text.blank();
        let include = |file| {
            let path = header_path(module.unit, self.schema, file);
            format!("#include \"{path}\"")
        };
        let mut included = module.included(include);
        included.insert("#include \"fabric/codec.h\"".into());
        self.text.lines(included);
        self.text.blank();
        let room = self.room.clone();
        self.text.line(format!("namespace iw::{room} {{"));
        definitions::write(self.schema, module.held_first(), self);
        self.text.blank();
        self.text.line(format!("}}  // namespace iw::{room}"));
    }

    fn refuse(&mut self, span: Span, message: impl Into<String>) {
        self.report.error(Diagnostic::new(span, message.into()));
    }

    /// The name in C++, without the file's, which every name of the file begins with.
    fn check_own_name(&mut self, def: &Def) -> String {
        if room_of_def(self.module.unit, def) != self.room || def.namespace.len() > 1 {
            let message = format!(
                "`{}` is not in `{}`, the one room that this file belongs to",
                def.name, self.room
            );
            self.refuse(def.span, message);
        }
        own_name(self.module.unit, def).unwrap_or_else(|prefix| {
            let message = format!("`{}` does not begin with `{prefix}`", def.name);
            self.refuse(def.span, message);
            def.name.clone()
        })
    }

    /// A constant that seems to say something of a field names one.
    fn check_field_named(&mut self, def: &Def) {
        let [bounded, filled] = ["_MAX", "_DEFAULT"].map(|suffix| def.name.strip_suffix(suffix));
        let (named, does) = match (bounded, filled) {
            (Some(named), _) => (named, "bounds"),
            (_, Some(named)) => (named, "fills"),
            _ => return,
        };
        let structs = self.schema.defs.iter().filter_map(|def| match &def.body {
            DefBody::Struct(fields) => Some((def.name.to_uppercase() + "_", fields)),
            _ => None,
        });
        let seems: Vec<bool> = structs
            .filter_map(|(prefix, fields)| {
                let field = named.strip_prefix(&prefix)?;
                Some(fields.iter().any(|own| own.name.to_uppercase() == field))
            })
            .collect();
        if !seems.is_empty() && !seems.contains(&true) {
            let message = format!("`{}` {does} no field of its struct", def.name);
            self.refuse(def.span, message);
        }
    }

    /// The constant that bounds a field, as a number of C++.
    fn bound_of(&mut self, owner: &Def, field: &Field) -> Option<String> {
        let wanted = format!("{}_{}_MAX", owner.name, field.name).to_uppercase();
        let bound = self.constant_named(&wanted)?;
        let is_unsigned = match self.schema.resolve(&field.ty) {
            Type::Primitive(primitive) => range(*primitive).is_some_and(|(least, _)| least == 0),
            _ => false,
        };
        if !is_unsigned {
            self.refuse(field.span, "only an unsigned integer has a bound");
        }
        Some(constant(bound).1)
    }

    /// The number that an integer is in a new struct.
    fn initial_of(&mut self, owner: &Def, field: &Field) -> String {
        let wanted = format!("{}_{}_DEFAULT", owner.name, field.name).to_uppercase();
        let filled = self.constant_named(&wanted);
        let Type::Primitive(primitive) = *self.schema.resolve(&field.ty) else {
            if filled.is_some() {
                self.refuse(field.span, format!("`{wanted}` fills only an integer"));
            }
            return "{}".into();
        };
        let Some(value) = filled else {
            return " = 0".into();
        };
        let fits = match primitive {
            Primitive::UHyper => u64::try_from(value).is_ok(),
            _ => range(primitive).is_none_or(|(least, most)| {
                (i128::from(least)..=i128::from(most)).contains(&value)
            }),
        };
        if !fits {
            self.refuse(
                field.span,
                format!("`{wanted}` is {value}, which does not fit"),
            );
        }
        format!(" = {}", constant(value).1)
    }

    fn constant_named(&self, name: &str) -> Option<i128> {
        let defs = self.schema.defs.iter();
        defs.filter(|def| def.name == name)
            .find_map(|def| match &def.body {
                DefBody::Const(Constant::Number(value)) => Some(*value),
                _ => None,
            })
    }

    fn define_enum(&mut self, def: &Def, name: &str, members: &[Member]) {
        let held_in = def.held_in.unwrap_or(Primitive::Int);
        let Some((least, most)) = range(held_in) else {
            return self.refuse(def.span, "an enum is held in an integer");
        };
        self.text.open(format!(
            "enum class {name} : {} {{",
            primitive_name(held_in)
        ));
        let prefix = format!("{}_", def.name.to_uppercase());
        for member in members {
            let Some(rest) = member.name.strip_prefix(&prefix) else {
                let message = format!("`{}` does not begin with `{prefix}`", member.name);
                self.refuse(member.span, message);
                continue;
            };
            if !(least..=most).contains(&member.value.into()) {
                let message = format!(
                    "`{}` does not fit into the integer that holds its enum",
                    member.name
                );
                self.refuse(member.span, message);
            }
            self.text.comment("//", &member.doc);
            let member_name = c_name(&rest.to_lowercase());
            self.text.line(format!("{member_name} = {},", member.value));
        }
        self.text.close("};");
        let values: BTreeSet<i32> = members.iter().map(|member| member.value).collect();
        self.define_is_known(name, held_in, least, &values);
    }

    /// Whether a number that was read is a member.
    fn define_is_known(
        &mut self,
        name: &str,
        held_in: Primitive,
        least: i64,
        values: &BTreeSet<i32>,
    ) {
        self.text.open(format!(
            "[[nodiscard]] constexpr bool is_known({name} v) {{"
        ));
        self.text.line(format!(
            "const auto n = static_cast<{}>(v);",
            primitive_name(held_in)
        ));
        let (first, last) = (values.first().unwrap(), values.last().unwrap());
        let is_row = i64::from(*last) - i64::from(*first) + 1 == values.len() as i64;
        let terms: Vec<String> = match is_row {
            true if i64::from(*first) == least => vec![format!("n <= {last}")],
            true => vec![format!("n >= {first} && n <= {last}")],
            false => values.iter().map(|value| format!("n == {value}")).collect(),
        };
        self.text
            .broken_line(format!("return {};", terms.join(" || ")), "|| ");
        self.text.close("}");
    }

    fn define_struct(&mut self, def: &Def, name: &str, fields: &[Field]) {
        let placed = self.place(def, fields);
        self.text.open(format!("struct {name} {{"));
        for field in fields {
            self.text.comment("//", &field.doc);
            let ty = self.type_name(&field.ty);
            let initial = self.initial_of(def, field);
            self.text
                .line(format!("{ty} {}{initial};", c_name(&field.name)));
        }
        self.text.blank();
        let compared = placed.rest.is_none();
        if compared {
            self.text.line(format!(
                "bool operator==(const {name}& other) const = default;"
            ));
        }
        self.text.close("};");
        match placed.rest {
            None => self.define_fixed(def, name, &placed),
            Some((rest, bound)) => self.define_message(def, name, &placed, rest, bound),
        }
    }

    /// Where the fields lie. A field that would leave a gap is refused.
    fn place<'f>(&mut self, def: &Def, fields: &'f [Field]) -> Fields<'f> {
        let mut placed = Fields {
            fixed: Vec::new(),
            rest: None,
            bytes: 0,
        };
        let mut grain = 1;
        for field in fields {
            if placed.rest.is_some() {
                self.refuse(field.span, "nothing follows a field of variable size");
            }
            let bound = match self.schema.resolve(&field.ty) {
                Type::OpaqueVar(bound) | Type::String(bound) => Some(*bound),
                _ => None,
            };
            if let Some(bound) = bound {
                if bound.is_none() {
                    self.refuse(field.span, "the bytes at a message's end need a bound");
                }
                placed.rest = Some((field, bound.unwrap_or(0)));
                continue;
            }
            let Some(shape) = self.shape(&field.ty, field.span) else {
                continue;
            };
            if !placed.bytes.is_multiple_of(shape.grain) {
                let message = format!(
                    "`{}` would lie at {}, which is not a multiple of {}",
                    field.name, placed.bytes, shape.grain
                );
                let error = Diagnostic::new(field.span, message);
                self.report.error(error.hint("name the bytes before it"));
            }
            grain = grain.max(shape.grain);
            placed.fixed.push(Placed {
                field,
                at: placed.bytes,
            });
            placed.bytes += shape.bytes;
        }
        if placed.rest.is_none() && !placed.bytes.is_multiple_of(grain) {
            let message = format!(
                "`{}` has {} bytes, which is not a multiple of {grain}",
                def.name, placed.bytes
            );
            let error = Diagnostic::new(def.span, message);
            self.report.error(error.hint("name the bytes at its end"));
        }
        placed
    }

    fn shape(&mut self, ty: &Type, span: Span) -> Option<Shape> {
        let row = |bytes: u64| Shape {
            bytes,
            grain: bytes,
        };
        match self.schema.resolve(ty) {
            Type::Primitive(primitive) => match range(*primitive) {
                Some(_) => Some(row(bytes_of(*primitive))),
                None => {
                    self.refuse(span, "only integers are read in place");
                    None
                }
            },
            Type::Opaque(size) => Some(Shape {
                bytes: (*size).into(),
                grain: 1,
            }),
            Type::Array(element, count) => {
                let of = self.shape(element, span)?;
                let bytes = of.bytes * u64::from(*count);
                Some(Shape { bytes, ..of })
            }
            Type::Named(id) => self.shape_of(*id, span),
            _ => {
                self.refuse(span, "what varies in size stands at a message's end");
                None
            }
        }
    }

    fn shape_of(&mut self, id: DefId, span: Span) -> Option<Shape> {
        let def = self.schema.def(id);
        match &def.body {
            DefBody::Enum(_) => {
                let bytes = bytes_of(def.held_in.unwrap_or(Primitive::Int));
                Some(Shape {
                    bytes,
                    grain: bytes,
                })
            }
            DefBody::Struct(fields) => {
                let mut whole = Shape { bytes: 0, grain: 1 };
                for field in fields {
                    let shape = self.shape(&field.ty, field.span)?;
                    whole.bytes += shape.bytes;
                    whole.grain = whole.grain.max(shape.grain);
                }
                Some(whole)
            }
            _ => {
                self.refuse(span, "no such type is read in place");
                None
            }
        }
    }

    /// What a compiler must agree with, and what a receiver checks.
    fn define_fixed(&mut self, def: &Def, name: &str, placed: &Fields<'_>) {
        self.text.line(format!(
            "static_assert(sizeof({name}) == {});",
            placed.bytes
        ));
        for each in &placed.fixed {
            let field = c_name(&each.field.name);
            self.text.line(format!(
                "static_assert(offsetof({name}, {field}) == {});",
                each.at
            ));
        }
        let mut terms = Vec::new();
        for each in &placed.fixed {
            let place = format!("v.{}", c_name(&each.field.name));
            terms.extend(self.checks(def, each.field, &place));
        }
        let argument = if terms.is_empty() { "" } else { " v" };
        self.text
            .line("// Whether each number is one that the specification has.");
        self.text.open(format!(
            "[[nodiscard]] constexpr bool check(const {name}&{argument}) {{"
        ));
        match terms.is_empty() {
            true => self.text.line("return true;"),
            false => self
                .text
                .broken_line(format!("return {};", terms.join(" && ")), "&& "),
        }
        self.text.close("}");
    }

    /// The conditions on one field.
    fn checks(&mut self, owner: &Def, field: &Field, place: &str) -> Vec<String> {
        let mut terms = Vec::new();
        if let Some(bound) = self.bound_of(owner, field) {
            terms.push(format!("{place} <= {bound}"));
        }
        match self.schema.resolve(&field.ty) {
            Type::Named(id) if self.has_checks(*id) => {
                let is_enum = matches!(self.schema.def(*id).body, DefBody::Enum(_));
                let call = if is_enum { "is_known" } else { "check" };
                terms.push(format!("{call}({place})"));
            }
            Type::Array(element, _) => {
                if let Type::Named(id) = self.schema.resolve(element) {
                    if self.has_checks(*id) {
                        self.refuse(field.span, "the elements of an array are not checked");
                    }
                }
            }
            _ => {}
        }
        terms
    }

    /// Whether some bytes are no value of the type.
    fn has_checks(&mut self, id: DefId) -> bool {
        let def = self.schema.def(id);
        match &def.body {
            DefBody::Enum(_) => true,
            DefBody::Struct(fields) => fields.iter().any(|field| {
                let named = match self.schema.resolve(&field.ty) {
                    Type::Named(id) => self.has_checks(*id),
                    _ => false,
                };
                named || self.bound_of(def, field).is_some()
            }),
            _ => false,
        }
    }

    /// A message's decoder and encoder: the fixed fields, then the rest, which stays where it is.
    fn define_message(
        &mut self,
        def: &Def,
        name: &str,
        placed: &Fields<'_>,
        rest: &Field,
        bound: u32,
    ) {
        let fixed = placed.bytes;
        let rest_name = c_name(&rest.name);
        self.text.line(format!(
            "// At most {bound} bytes at the end are `{rest_name}`, which are not copied."
        ));
        self.text.open(format!(
            "[[nodiscard]] inline bool decode(std::span<const std::byte> bytes, {name}* v) {{"
        ));
        self.text.line(format!(
            "if (bytes.size() < {fixed} || bytes.size() - {fixed} > {bound}) return false;"
        ));
        for each in &placed.fixed {
            let field = c_name(&each.field.name);
            self.text.line(format!(
                "std::memcpy(&v->{field}, bytes.data() + {}, sizeof v->{field});",
                each.at
            ));
        }
        let from_rest = match self.schema.resolve(&rest.ty) {
            Type::String(_) => format!("fabric::text_of(bytes.subspan({fixed}))"),
            _ => format!("bytes.subspan({fixed})"),
        };
        self.text.line(format!("v->{rest_name} = {from_rest};"));
        let mut terms = Vec::new();
        for each in &placed.fixed {
            let place = format!("v->{}", c_name(&each.field.name));
            terms.extend(self.checks(def, each.field, &place));
        }
        let checked = match terms.is_empty() {
            true => "true".into(),
            false => terms.join(" && "),
        };
        self.text.broken_line(format!("return {checked};"), "&& ");
        self.text.close("}");
        self.text.open(format!(
            "[[nodiscard]] inline std::vector<std::byte> encode(const {name}& v) {{"
        ));
        self.text.line(format!(
            "const auto rest = std::as_bytes(std::span(v.{rest_name}));"
        ));
        self.text.line(format!(
            "std::vector<std::byte> bytes({fixed} + rest.size());"
        ));
        for each in &placed.fixed {
            let field = c_name(&each.field.name);
            self.text.line(format!(
                "std::memcpy(bytes.data() + {}, &v.{field}, sizeof v.{field});",
                each.at
            ));
        }
        self.text.line(format!(
            "std::copy(rest.begin(), rest.end(), bytes.begin() + {fixed});"
        ));
        self.text.line("return bytes;");
        self.text.close("}");
    }

    fn type_name(&self, ty: &Type) -> String {
        self.module.spell(&TypeName(self.module), ty)
    }
}

fn room_of_def(unit: &Unit<'_>, def: &Def) -> String {
    match def.namespace.first() {
        Some(namespace) => namespace.clone(),
        None => stem(unit, def.file),
    }
}

/// The room of a file, which its first definition tells.
fn room_of(unit: &Unit<'_>, schema: &Schema, file: FileId) -> String {
    let first = schema.of_file(file).next();
    first.map_or_else(|| stem(unit, file), |id| room_of_def(unit, schema.def(id)))
}

fn header_path(unit: &Unit<'_>, schema: &Schema, file: FileId) -> String {
    let room = room_of(unit, schema, file);
    format!("{room}/{}.gen.h", stem(unit, file))
}

/// A definition's name in C++ without the file's, or what it ought to begin with.
fn own_name(unit: &Unit<'_>, def: &Def) -> Result<String, String> {
    let is_constant = matches!(def.body, DefBody::Const(_));
    let stem = stem(unit, def.file);
    let prefix = match (def.namespace.is_empty(), is_constant) {
        (false, _) => String::new(),
        (true, true) => format!("{}_", stem.to_uppercase()),
        (true, false) => format!("{stem}_"),
    };
    let rest = def.name.strip_prefix(&prefix).ok_or(prefix)?;
    Ok(match is_constant {
        true => c_name(&rest.to_lowercase()),
        false => rust_type(rest),
    })
}

/// A field's type. A type that cannot be read in place is refused elsewhere.
struct TypeName<'a>(&'a Module<'a>);

impl Spelling for TypeName<'_> {
    const SEES_THROUGH_TYPEDEFS: bool = false;

    fn primitive(&self, primitive: Primitive) -> String {
        primitive_name(primitive).into()
    }

    fn named(&self, id: DefId) -> String {
        let def = self.0.schema.def(id);
        let name = own_name(self.0.unit, def).unwrap_or(def.name.clone());
        let (own, room) = (
            room_of(self.0.unit, self.0.schema, self.0.file),
            room_of_def(self.0.unit, def),
        );
        match own == room {
            true => name,
            false => format!("{room}::{name}"),
        }
    }

    fn fixed(&self, size: u32) -> String {
        format!("std::array<std::byte, {size}>")
    }

    fn bytes(&self, _bound: Option<u32>) -> String {
        "std::span<const std::byte>".into()
    }

    fn text(&self, _bound: Option<u32>) -> String {
        "std::string_view".into()
    }

    fn elements(&self, count: u32, each: &Element<'_>) -> String {
        format!("std::array<{}, {count}>", each.text)
    }

    fn array(&self, _bound: Option<u32>, _each: &Element<'_>) -> String {
        "void".into()
    }

    fn optional(&self, _each: &Element<'_>) -> String {
        "void".into()
    }

    fn inner(&self) -> Self {
        TypeName(self.0)
    }
}

/// An `int` where it can be: such a constant is compared with signed and unsigned numbers alike.
fn constant(value: i128) -> (&'static str, String) {
    match i32::try_from(value) {
        Ok(small) => ("int", small.to_string()),
        Err(_) => super::cpp::constant(value),
    }
}

fn primitive_name(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Char => "char",
        other => super::cpp::primitive_name(other),
    }
}

/// The least and the most that an integer holds, as far as an enum's members may go.
fn range(primitive: Primitive) -> Option<(i64, i64)> {
    match primitive {
        Primitive::Char => Some((-128, 127)),
        Primitive::UChar => Some((0, 255)),
        Primitive::Short => Some((-32768, 32767)),
        Primitive::UShort => Some((0, 65535)),
        Primitive::Int => Some((i32::MIN.into(), i32::MAX.into())),
        Primitive::UInt => Some((0, u32::MAX.into())),
        Primitive::Hyper => Some((i64::MIN, i64::MAX)),
        Primitive::UHyper => Some((0, i64::MAX)),
        _ => None,
    }
}

/// Of an integer.
fn bytes_of(primitive: Primitive) -> u64 {
    match primitive {
        Primitive::Char | Primitive::UChar => 1,
        Primitive::Short | Primitive::UShort => 2,
        Primitive::Hyper | Primitive::UHyper => 8,
        _ => 4,
    }
}
