//! Names of generated Java: those of C, unless Java or `IW_Object` keeps them for itself.

use crate::backends::names::JAVA_WORDS;
use crate::backends::stem;
use crate::compile::Unit;
use crate::diagnostics::{Diagnostic, Report};
use crate::ir::{Def, DefBody, DefId};
use crate::source::{FileId, Span};
use std::collections::{HashMap, HashSet};

/// Names of types that Java restricts, and of those that generated text uses.
const TYPES: &[&str] = &[
    "IW_Array",
    "IW_Elements",
    "IW_Field",
    "IW_Memory",
    "IW_Object",
    "IW_Place",
    "IW_Ref",
    "IW_Space",
    "IW_Types",
    "Override",
    "String",
    "permits",
    "record",
    "sealed",
    "var",
    "yield",
];

/// Of a class.
pub fn type_name(def: &Def) -> String {
    let name = def.full_name("_");
    match JAVA_WORDS.contains(&name.as_str()) || TYPES.contains(&name.as_str()) {
        true => name + "_",
        false => name,
    }
}

/// Of a field or a constant. Names of `IW_Object` begin with `iw_`.
pub fn member_name(name: &str) -> String {
    match JAVA_WORDS.contains(&name) || name.starts_with("iw_") {
        true => format!("{name}_"),
        false => name.to_string(),
    }
}

/// Of a constant of the file.
pub fn constant_name(def: &Def) -> String {
    member_name(&def.full_name("_"))
}

/// The class of a file's constants and types: `list_x` of list.x.
pub fn file_class(unit: &Unit<'_>, file: FileId) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = stem(unit, file).chars().map(letter).collect();
    match name.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("_{name}_x"),
        false => name + "_x",
    }
}

/// Classes share a package; constants share the file's class; members share their enum's.
pub fn check(unit: &Unit<'_>, report: &mut Report) {
    let mut classes = Scope::default();
    let mut constants: HashMap<FileId, Scope> = HashMap::new();
    for (index, def) in unit.schema.defs.iter().enumerate() {
        match &def.body {
            DefBody::Const(_) => {
                let scope = constants.entry(def.file).or_default();
                scope.add(constant_name(def), def.span, report);
            }
            _ if super::has_class(unit, DefId(index)) => {
                classes.add(type_name(def), def.span, report);
            }
            _ => {}
        }
        if let DefBody::Enum(members) = &def.body {
            let mut scope = Scope::default();
            for member in members {
                scope.add(member_name(&member.name), member.span, report);
            }
        }
    }
    for &file in unit.roots {
        let name = file_class(unit, file);
        if let Some(&span) = classes.0.get(&name) {
            let message = format!("`{name}` is the class of this file's constants in Java");
            report.error(Diagnostic::new(span, message));
        }
    }
}

#[derive(Default)]
pub struct Scope(HashMap<String, Span>);

impl Scope {
    pub fn add(&mut self, name: String, span: Span, report: &mut Report) {
        if let Some(first) = self.0.insert(name.clone(), span) {
            let message = format!("the name `{name}` is used twice in Java");
            report.error(Diagnostic::new(span, message).related(first, "first used here"));
        }
    }
}

/// The name of a constant beside the fields, which have theirs already.
pub fn free_name(mut name: String, taken: &mut HashSet<String>) -> String {
    while !taken.insert(name.clone()) {
        name.push('_');
    }
    name
}
