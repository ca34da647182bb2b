//! Names of generated declarations: those of the .x file, unless Python or the generated text keeps
//! them for itself.

use crate::diagnostics::{Diagnostic, Report};
use crate::ir::{Def, Schema};
use crate::source::Span;
use std::collections::HashMap;

const WORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];
/// Names that generated text uses.
const TAKEN: &[&str] = &[
    "Row",
    "bool",
    "enum",
    "float",
    "int",
    "interweave",
    "np",
    "npt",
    "property",
    "str",
    "typing",
];

/// Of a type, a constant, or an enum's class.
pub fn type_name(def: &Def) -> String {
    let name = def.full_name("_");
    match WORDS.contains(&&*name) || TAKEN.contains(&&*name) || name.starts_with("__") {
        true => name + "_",
        false => name,
    }
}

/// Whether an attribute of that name can be written in the body of a class. Python changes names
/// that begin with two underscores there.
pub fn is_attribute(name: &str) -> bool {
    !WORDS.contains(&name) && !name.starts_with("__")
}

/// Whether a stub can declare the attribute: it would hide a name that the stub uses.
pub fn is_declared(name: &str) -> bool {
    is_attribute(name) && !TAKEN.contains(&name)
}

/// All definitions are in the scope of the module.
pub fn check(schema: &Schema, report: &mut Report) {
    let mut seen: HashMap<String, Span> = HashMap::new();
    for def in &schema.defs {
        let name = type_name(def);
        if let Some(first) = seen.insert(name.clone(), def.span) {
            let message = format!("the name `{name}` is used twice in Python");
            report.error(Diagnostic::new(def.span, message).related(first, "first used here"));
        }
    }
}
