//! What all generated TypeScript has in common: words and how constants, interfaces and unions are
//! spelt. Members keep the names of the .x file.

use crate::backends::quoted;
use crate::backends::text::Text;
use crate::ir::{Arm, Constant, Field, Primitive, Type, Union};
use std::collections::{BTreeMap, BTreeSet};

/// Numbers beyond are not exact in JavaScript.
const MAX_EXACT: i128 = (1 << 53) - 1;
/// Words that no variable may be named.
const WORDS: &[&str] = &[
    "arguments",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

pub fn is_word(name: &str) -> bool {
    WORDS.contains(&name)
}

/// A number of any size: beyond what is exact, a bigint.
pub fn constant(text: &mut Text, name: &str, value: &Constant) {
    let literal = match value {
        Constant::Text(text) => quoted(text),
        Constant::Number(value) if (-MAX_EXACT..=MAX_EXACT).contains(value) => value.to_string(),
        Constant::Number(value) => format!("{value}n"),
    };
    text.line(format!("export const {name} = {literal};"));
}

/// The TypeScript type of a number or a bool.
pub fn primitive_value(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Hyper | Primitive::UHyper => "bigint",
        Primitive::Quadruple => "Uint8Array",
        Primitive::Bool => "boolean",
        _ => "number",
    }
}

/// `members` are the lines of each field.
pub fn interface(text: &mut Text, name: &str, fields: &[Field], members: Vec<Vec<String>>) {
    text.open(format!("export interface {name} {{"));
    for (field, lines) in fields.iter().zip(members) {
        text.block_comment(&field.doc);
        text.lines(lines);
    }
    text.close("}");
}

/// The lines of a discriminated union. `shown` is the type of a member, `case` that
/// of a discriminant's value.
pub fn union_type(
    name: &str,
    union: &Union,
    shown: impl Fn(&Type) -> String,
    case: impl Fn(i64) -> String,
) -> Vec<String> {
    let discriminant = &union.discriminant;
    let arm_type = |cases: &str, arm: &Arm| {
        let payload = arm.field.as_ref().map_or(String::new(), |field| {
            format!("; {}: {}", field.name, shown(&field.ty))
        });
        format!("| {{ {}: {cases}{payload} }}", discriminant.name)
    };
    let cases = |arm: &Arm| -> Vec<String> { arm.cases.iter().map(|c| case(c.value)).collect() };
    let mut arms: Vec<String> = union
        .arms
        .iter()
        .map(|arm| arm_type(&cases(arm).join(" | "), arm))
        .collect();
    if let Some(arm) = &union.default {
        let taken: Vec<String> = union.arms.iter().flat_map(cases).collect();
        let rest = format!(
            "Exclude<{}, {}>",
            shown(&discriminant.ty),
            taken.join(" | ")
        );
        arms.push(arm_type(&rest, arm));
    }
    if let Some(last) = arms.last_mut() {
        last.push(';');
    }
    let arms = arms.iter().map(|arm| format!("  {arm}"));
    std::iter::once(format!("export type {name} ="))
        .chain(arms)
        .collect()
}

/// Names by the modules that have them.
#[derive(Default)]
pub struct Imports(BTreeMap<String, BTreeSet<String>>);

impl Imports {
    pub fn add(&mut self, module: &str, name: String) {
        self.0.entry(module.into()).or_default().insert(name);
    }

    pub fn write(self, text: &mut Text) {
        for (module, names) in self.0 {
            let names: Vec<String> = names.into_iter().collect();
            let here = if module.starts_with("../") { "" } else { "./" };
            text.line(format!(
                "import {{ {} }} from \"{here}{module}.js\";",
                names.join(", ")
            ));
        }
    }
}
