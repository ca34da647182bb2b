//! What Fortran cannot express: names that differ in case only, are longer than 63 characters or
//! begin with an underscore; arrays of more than seven dimensions; files that need
//! each other's types whole.

use super::spelling::spell;
use super::{module_name, names_of, own_name, used_files};
use crate::backends::c::Backend;
use crate::diagnostics::{Diagnostic, Report};
use crate::ir::check::embedded;
use crate::ir::{DefBody, DefId};
use crate::source::Span;
use std::collections::{HashMap, HashSet};

const MAX_NAME: usize = 63;
const MAX_RANK: usize = 7;

pub fn check(backend: &Backend<'_>, report: &mut Report) {
    check_module(backend, report);
    let mut scope = Scope::default();
    for (index, def) in backend.schema.defs.iter().enumerate() {
        let own = def.file == backend.file;
        for (name, span) in names_of(backend, DefId(index)) {
            scope.add(name, span, own, report);
        }
    }
    for id in backend.schema.of_file(backend.file) {
        check_components(backend, id, report);
    }
}

fn check_module(backend: &Backend<'_>, report: &mut Report) {
    let name = module_name(backend, backend.file);
    if name.len() > MAX_NAME {
        let message =
            format!("the module `{name}` would have a name longer than {MAX_NAME} characters");
        let hint = "give the file a shorter name";
        report.error(Diagnostic::global(message).hint(hint));
    }
    let mut seen = HashSet::new();
    let mut open: Vec<_> = used_files(backend.schema, backend.file)
        .into_iter()
        .collect();
    while let Some(file) = open.pop() {
        if file == backend.file {
            let other = backend
                .schema
                .of_file(file)
                .find(|&id| holds_another_files(backend, id));
            let span = other.map(|id| backend.schema.def(id).span);
            let message = "this file and what it includes hold types of each other by value, \
                           which modules of Fortran cannot";
            let mut error = Diagnostic::global(message).hint("put these types into one file");
            error.span = span;
            report.error(error);
            return;
        }
        if seen.insert(file) {
            open.extend(used_files(backend.schema, file));
        }
    }
}

fn holds_another_files(backend: &Backend<'_>, id: DefId) -> bool {
    let mut held = embedded(backend.schema, id).into_iter();
    held.any(|other| backend.schema.def(other).file != backend.file)
}

/// The names of one scope, in which case makes no difference.
#[derive(Default)]
struct Scope {
    seen: HashMap<String, (String, Span)>,
}

impl Scope {
    /// `own`: the name is written into this module.
    fn add(&mut self, name: String, span: Span, own: bool, report: &mut Report) {
        if own {
            check_name(&name, span, report);
        }
        let before = self.seen.insert(name.to_lowercase(), (name.clone(), span));
        if let Some((other, first)) = before {
            let message = format!("`{name}` and `{other}` are one name in Fortran");
            report.error(Diagnostic::new(span, message).related(first, "first used here"));
        }
    }
}

fn check_name(name: &str, span: Span, report: &mut Report) {
    if name.len() > MAX_NAME {
        let message = format!("`{name}` is longer than Fortran's {MAX_NAME} characters");
        report.error(Diagnostic::new(span, message));
    } else if name.starts_with('_') {
        let message = format!("`{name}` begins with an underscore, which no name of Fortran does");
        report.error(Diagnostic::new(span, message));
    }
}

fn check_components(backend: &Backend<'_>, id: DefId, report: &mut Report) {
    let def = backend.schema.def(id);
    if let DefBody::Union(_) = def.body {
        check_name(&backend.union_member(def), def.span, report);
    }
    let mut scope = Scope::default();
    for field in def.fields() {
        scope.add(own_name(&field.name), field.span, true, report);
        let rank = spell(backend.schema, &field.ty).dimensions.len();
        if rank > MAX_RANK {
            let message = format!(
                "`{}` has {rank} dimensions; Fortran's arrays have at most {MAX_RANK}",
                field.name
            );
            report.error(Diagnostic::new(field.span, message));
        }
    }
}
