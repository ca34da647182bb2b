//! The types of a file as the library reads them (org/interweave/IW_Types.java): words, in which
//! `*T` is a pointer, `[N]T` an array, `<N>T` a sequence, `$N` a string and `$$N` a text.

use crate::backends::first_line;
use crate::backends::limits::MAX_STRING_BOUND;
use crate::backends::names::primitive_word;
use crate::backends::order::mentioned;
use crate::backends::text::Text;
use crate::compile::{GeneratedFile, Unit};
use crate::ir::{Arm, Def, DefBody, DefId, Primitive, Schema, Type};
use crate::source::FileId;
use std::collections::BTreeSet;
use std::path::Path;

/// A constant of a class file has at most 65535 bytes.
const MAX_TEXT: usize = 60_000;
const INDEX: &str = "META-INF/interweave/types";

/// The lines that declare a file's types and all types that they mention.
pub fn write(unit: &Unit<'_>, file: FileId, text: &mut Text) {
    let schema = unit.schema;
    let mut known: BTreeSet<DefId> = schema.of_file(file).collect();
    let mut open: Vec<DefId> = known.iter().copied().collect();
    while let Some(id) = open.pop() {
        open.extend(
            mentioned(schema.def(id))
                .into_iter()
                .filter(|&id| known.insert(id)),
        );
    }
    for id in known {
        if let Some((method, words)) = declared(schema, id) {
            let def = schema.def(id);
            let class = match super::has_class(unit, id) && method != "enumeration" {
                true => format!("{}.class", super::names::type_name(def)),
                false => "null".into(),
            };
            let name = def.full_name("::");
            text.open(format!(".{method}(\"{name}\", {class},"));
            let parts = chunks(&words);
            for (index, part) in parts.iter().enumerate() {
                let end = if index + 1 == parts.len() { ")" } else { "," };
                text.line(format!("\"{part}\"{end}"));
            }
            text.outdent();
        }
    }
}

/// For each type with a class, a resource of the type's name that names the class of its file.
pub fn index<'a>(unit: &'a Unit<'_>, file: FileId) -> impl Iterator<Item = GeneratedFile> + 'a {
    let mut class = super::names::file_class(unit, file);
    if !unit.package.is_empty() {
        class = format!("{}.{class}", unit.package);
    }
    let text = format!("# {}\n{class}\n", first_line(unit, file));
    let has_entry = |id: &DefId| {
        let is_enum = matches!(unit.schema.def(*id).body, DefBody::Enum(_));
        !is_enum && super::has_class(unit, *id)
    };
    let entry = move |id| GeneratedFile {
        path: Path::new(INDEX).join(unit.schema.def(id).full_name(".")),
        text: text.clone(),
    };
    unit.schema.of_file(file).filter(has_entry).map(entry)
}

/// None for what has no descriptor of its own.
fn declared(schema: &Schema, id: DefId) -> Option<(&'static str, Vec<String>)> {
    let def = schema.def(id);
    let words = match &def.body {
        DefBody::Const(_) => return None,
        DefBody::Alias(Type::Named(_)) => return None,
        DefBody::Alias(Type::Primitive(primitive)) if *primitive != Primitive::Quadruple => {
            return None
        }
        DefBody::Alias(ty) => return Some(("named", vec![derived(schema, ty)])),
        DefBody::Enum(members) => {
            let word = |m: &crate::ir::Member| format!("{} {}", m.name, m.value);
            return Some(("enumeration", members.iter().map(word).collect()));
        }
        DefBody::Struct(fields) => {
            let word = |f: &crate::ir::Field| format!("{} {}", f.name, expression(schema, &f.ty));
            return Some(("structure", fields.iter().map(word).collect()));
        }
        DefBody::Union(union) => {
            let chosen = expression(schema, &union.discriminant.ty);
            let first = format!("{} {chosen}", union.discriminant.name);
            let arms = union.arms.iter().map(|arm| {
                let values = arm.cases.iter().map(|case| (case.value as i32).to_string());
                arm_words(schema, arm, &values.collect::<Vec<_>>().join(","))
            });
            let other = union.default.iter().map(|arm| arm_words(schema, arm, "*"));
            [first].into_iter().chain(arms).chain(other).collect()
        }
    };
    Some(("union", words))
}

fn arm_words(schema: &Schema, arm: &Arm, values: &str) -> String {
    match &arm.field {
        Some(field) => format!("{} {} {values}", field.name, expression(schema, &field.ty)),
        None => format!("- - {values}"),
    }
}

fn chunks(words: &[String]) -> Vec<String> {
    let mut parts = vec![String::new()];
    for word in words {
        let last = parts.last_mut().expect("there is one");
        if last.len() + word.len() > MAX_TEXT {
            parts.push(word.clone());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    parts
}

/// A type where it is used: a typedef that merely renames is what it renames.
fn expression(schema: &Schema, ty: &Type) -> String {
    match ty {
        Type::Primitive(primitive) if *primitive != Primitive::Quadruple => {
            primitive_word(*primitive).into()
        }
        Type::Named(id) => match &schema.def(*id) {
            Def {
                body: DefBody::Alias(target @ (Type::Named(_) | Type::Primitive(_))),
                ..
            } if *target != Type::Primitive(Primitive::Quadruple) => expression(schema, target),
            def => def.full_name("::"),
        },
        _ => derived(schema, ty),
    }
}

fn derived(schema: &Schema, ty: &Type) -> String {
    match ty {
        Type::Array(element, count) => format!("[{count}]{}", expression(schema, element)),
        Type::Opaque(size) => format!("[{size}]uchar"),
        Type::Primitive(_) => "[16]uchar".into(),
        Type::Sequence(element, bound) => {
            format!("<{}>{}", bound.unwrap_or(0), expression(schema, element))
        }
        Type::OpaqueVar(bound) => format!("<{}>uchar", bound.unwrap_or(0)),
        Type::AnyPointer => "*void".into(),
        Type::Pointer(target) => format!("*{}", expression(schema, target)),
        Type::String(Some(bound)) if *bound <= MAX_STRING_BOUND => format!("${bound}"),
        Type::String(bound) => format!("$${}", bound.unwrap_or(0)),
        Type::Named(_) => unreachable!("named types have words of their own"),
    }
}
