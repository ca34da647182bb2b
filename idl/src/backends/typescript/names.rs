//! Names of generated declarations: those of C, unless TypeScript keeps them for itself.

use super::spelling::is_word;
use crate::diagnostics::{Diagnostic, Report};
use crate::ir::{Def, DefBody, Schema};
use crate::source::Span;
use std::collections::HashMap;

/// Names of types that cannot be redefined, and of those that generated text uses.
const TAKEN: &[&str] = &[
    "Exclude",
    "Iterable",
    "any",
    "bigint",
    "boolean",
    "iw",
    "never",
    "number",
    "object",
    "string",
    "symbol",
    "undefined",
    "unknown",
];

fn mangled(name: String) -> String {
    let is_array = name.ends_with("Array") && name.contains(|c: char| c.is_ascii_digit());
    match is_array || is_word(&name) || TAKEN.contains(&name.as_str()) {
        true => name + "_",
        false => name,
    }
}

/// Of a type and of its declaration; or of a constant.
pub fn type_name(def: &Def) -> String {
    mangled(def.full_name("_"))
}

/// Of an enum's member, a constant beside the enum.
pub fn member_name(def: &Def, member: &str) -> String {
    let mut parts: Vec<&str> = def.namespace.iter().flat_map(|n| n.split("::")).collect();
    parts.push(member);
    mangled(parts.join("_"))
}

/// The member of an enum with that value.
pub fn case_name(def: &Def, value: i64) -> Option<String> {
    let DefBody::Enum(members) = &def.body else {
        return None;
    };
    let member = members.iter().find(|m| i64::from(m.value) == value);
    member.map(|member| member_name(def, &member.name))
}

/// A key of an object. `__proto__` as it is would be the object's prototype.
pub fn property(name: &str) -> String {
    match name {
        "__proto__" => "[\"__proto__\"]".into(),
        _ => name.into(),
    }
}

/// Types, constants and the members of enums are all in the scope of the module.
pub fn check(schema: &Schema, report: &mut Report) {
    let mut seen: HashMap<String, Span> = HashMap::new();
    let mut add = |name: String, span: Span| {
        if let Some(first) = seen.insert(name.clone(), span) {
            let message = format!("the name `{name}` is used twice in TypeScript");
            report.error(Diagnostic::new(span, message).related(first, "first used here"));
        }
    };
    for def in &schema.defs {
        add(type_name(def), def.span);
        if let DefBody::Enum(members) = &def.body {
            for member in members {
                add(member_name(def, &member.name), member.span);
            }
        }
    }
}
