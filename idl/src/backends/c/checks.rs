//! What C cannot express.

use super::Backend;
use crate::backends::names;
use crate::diagnostics::{Diagnostic, Report};
use crate::ir::{Constant, Def, DefBody, DefId, Type};
use crate::source::Span;
use std::collections::{HashMap, HashSet};

pub fn check(backend: &Backend<'_>, report: &mut Report) {
    check_identifiers(backend, report);
    let defs = backend.schema.defs.iter().enumerate();
    let macros = defs.filter(|(_, def)| is_macro(def));
    let macros = macros
        .map(|(index, def)| (backend.name(DefId(index)), def.span))
        .collect();
    for id in backend.schema.of_file(backend.file) {
        check_members(backend.schema.def(id), &macros, report);
    }
    check_order(backend, report);
}

/// Types, constants and enum members are all ordinary identifiers of C, in one scope.
fn check_identifiers(backend: &Backend<'_>, report: &mut Report) {
    let mut seen: HashMap<String, Span> = HashMap::new();
    let mut add = |name: String, span: Span| {
        if let Some(first) = seen.insert(name.clone(), span) {
            let message = format!("the name `{name}` is used twice, which C does not allow");
            report.error(Diagnostic::new(span, message).related(first, "first used here"));
        }
    };
    for (index, def) in backend.schema.defs.iter().enumerate() {
        add(backend.name(DefId(index)), def.span);
        if let DefBody::Enum(members) = &def.body {
            for member in members {
                add(backend.member_name(def, &member.name), member.span);
            }
        }
    }
}

/// Whether the header defines a constant as a macro.
pub fn is_macro(def: &Def) -> bool {
    match def.body {
        DefBody::Const(Constant::Number(value)) => i32::try_from(value).is_err(),
        DefBody::Const(Constant::Text(_)) => true,
        _ => false,
    }
}

/// Members that differ in the file may be one in C: `class` and `class_`.
/// And a text, or a constant too wide for an int, is a macro, which would be put in the
/// place of a member.
fn check_members(def: &Def, macros: &HashMap<String, Span>, report: &mut Report) {
    let mut seen: HashMap<String, Span> = HashMap::new();
    for field in def.fields() {
        let name = names::c_name(&field.name);
        let before = seen.insert(name.clone(), field.span);
        if let Some(first) = before.or(macros.get(&name).copied()) {
            let message = format!("`{}` becomes `{name}` in C, which is taken", field.name);
            let error = Diagnostic::new(field.span, message).related(first, "by this");
            report.error(error);
        }
    }
}

/// A pointer to an array needs the array's element complete, which C's typedefs cannot give where
/// element and array are made of each other.
fn check_order(backend: &Backend<'_>, report: &mut Report) {
    let own: HashSet<DefId> = backend.ordered.iter().copied().collect();
    let mut defined: HashSet<DefId> = HashSet::new();
    for &id in &backend.ordered {
        let def = backend.schema.def(id);
        let mut needed = super::order::held(backend.schema, id);
        for ty in def.types() {
            pointed_arrays(backend, ty, &mut needed);
        }
        let missing = needed
            .iter()
            .find(|other| own.contains(other) && !defined.contains(other));
        if let Some(other) = missing {
            let other = backend.schema.def(*other);
            let message = format!(
                "`{}` needs the whole of `{}` before that can be defined; C cannot express this",
                def.name, other.name
            );
            let hint = "put the array into a struct of its own";
            report.error(Diagnostic::new(def.span, message).hint(hint));
        }
        defined.insert(id);
    }
}

/// Structs and unions that are elements of arrays pointed to.
fn pointed_arrays(backend: &Backend<'_>, ty: &Type, into: &mut Vec<DefId>) {
    let (Type::Pointer(target) | Type::Sequence(target, _)) = backend.schema.resolve(ty) else {
        return;
    };
    let mut inner = backend.schema.resolve(target);
    let mut array = false;
    while let Type::Array(element, _) = inner {
        array = true;
        inner = backend.schema.resolve(element);
    }
    match inner {
        Type::Named(id) if array => into.push(*id),
        _ => {}
    }
}
