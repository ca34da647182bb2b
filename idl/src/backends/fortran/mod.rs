//! Fortran types for a program's own data: one module per .x file, and beside it the C header and
//! tables, which hold the descriptors and register them.
//!
//! `list.x` becomes `list.f90`, `list.h` and `list.c`. A type of the module has C's layout, because
//! it is `bind(C)` and holds C's members in C's order; arrays have C's dimensions in reverse. What
//! Fortran lacks: unions are a discriminant and opaque storage of their size (see [`layout`]), with
//! a function per arm that points into it; unsigned integers are signed ones of the same bits;
//! typedefs are written out where they are used; an enum is an integer(c_int), its members are
//! parameters. The text is Fortran 2003, and the same for every machine.

mod checks;
mod layout;
mod module;
mod spelling;

use super::c::{self, Backend, Described};
use super::library_names::{NUMBERS, RECORDS};
use super::{output_path, stem};
use crate::compile::{GeneratedFile, Unit};
use crate::diagnostics::Report;
use crate::ir::{check, Def, DefBody, DefId, Schema};
use crate::source::{FileId, Span};
use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

pub fn generate(unit: &Unit<'_>, report: &mut Report) -> Vec<(PathBuf, GeneratedFile)> {
    let mut files = c::generate(unit, report);
    for &file in unit.roots {
        let backend = Backend::new(unit, file);
        checks::check(&backend, report);
        if !report.is_empty() {
            continue;
        }
        let input = unit.sources.path(file).to_path_buf();
        let path = output_path(unit, file, "f90");
        let text = module::text(&backend);
        files.push((input, GeneratedFile { path, text }));
    }
    files
}

/// Names that a module of ours needs for itself or that no Fortran type may have, in lower case.
const TAKEN: &[&str] = &[
    "c_char",
    "c_double",
    "c_f_pointer",
    "c_float",
    "c_int",
    "c_int64_t",
    "c_intptr_t",
    "c_loc",
    "c_ptr",
    "c_short",
    "c_signed_char",
    "character",
    "complex",
    "doublecomplex",
    "doubleprecision",
    "integer",
    "logical",
    "real",
];

/// Names behind `IW_` of the library's module, in lower case, besides its generated numbers and
/// records. A test compares all of them with the module.
const OF_LIBRARY: &[&str] = &[
    "array",
    "assign",
    "block_t",
    "bool",
    "char",
    "close_segment",
    "describe_block",
    "dispatch",
    "double",
    "errno",
    "event_fd",
    "find",
    "find_or_malloc",
    "find_or_malloc_array",
    "float",
    "free",
    "handle_t",
    "hyper",
    "int",
    "is_open",
    "malloc",
    "malloc_array",
    "malloc_named",
    "mip_to_ptr",
    "next_block",
    "on_32",
    "on_64",
    "on_change",
    "on_connection",
    "on_i386",
    "open_segment",
    "open_segment_with",
    "ptr_to_mip",
    "refresh",
    "rl_acquire",
    "rl_acquire_for",
    "rl_release",
    "sequence_t",
    "set_coherence",
    "set_coherence_fn",
    "set_log",
    "set_text",
    "short",
    "staleness",
    "stats",
    "strerror",
    "text",
    "uchar",
    "uhyper",
    "uint",
    "ushort",
    "version",
    "wide",
    "wl_abort",
    "wl_acquire",
    "wl_acquire_for",
    "wl_release",
];

/// The variable with a type's descriptor: as in C, but with an underscore behind it where the
/// library's module has the name, perhaps in another case.
fn descriptor_name(variable: &str) -> String {
    let name = variable.trim_start_matches("IW_").to_lowercase();
    let mut generated = NUMBERS.iter().chain(RECORDS);
    let is_generated = generated.any(|generated| generated.eq_ignore_ascii_case(&name));
    match is_generated || OF_LIBRARY.contains(&name.as_str()) {
        true => format!("{variable}_"),
        false => variable.to_string(),
    }
}

/// A name in Fortran: as in the file, but with an underscore behind it where it is taken.
fn own_name(name: &str) -> String {
    let lower = name.to_lowercase();
    match TAKEN.contains(&lower.as_str()) || lower.starts_with("iw_") {
        true => format!("{name}_"),
        false => name.to_string(),
    }
}

/// The name of a type or constant.
fn type_name(def: &Def) -> String {
    own_name(&def.full_name("_"))
}

/// An enum's member, which stands in the scope of the module.
fn member_name(def: &Def, member: &str) -> String {
    let mut parts: Vec<&str> = def.namespace.iter().flat_map(|n| n.split("::")).collect();
    parts.push(member);
    own_name(&parts.join("_"))
}

/// The function that points to an arm: `shape_u_circle(s)` for C's `s.shape_u.circle`.
fn arm_name(def: &Def, arm: &str) -> String {
    format!("{}_u_{arm}", def.full_name("_"))
}

/// The modules of the library, beside those whose names [`own_name`] keeps clear of.
const MODULES: &[&str] = &[
    "interweave",
    "interweave_arrays",
    "interweave_c",
    "interweave_calls",
    "interweave_constants",
    "interweave_interface",
    "interweave_text",
    "iso_c_binding",
];

/// The module of a file: named after it, with an underscore behind where something in it has the
/// name, or the library's modules or functions may.
fn module_name(backend: &Backend<'_>, file: FileId) -> String {
    let letters = stem(backend.unit, file);
    let letters = letters
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    let mut name: String = letters.collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.insert(0, 'x');
    }
    let name = own_name(&name);
    let lower = name.to_lowercase();
    let mut within = backend.schema.of_file(file);
    let is_within = within.any(|id| {
        let mut names = names_of(backend, id).into_iter();
        names.any(|(name, _)| name.to_lowercase() == lower)
    });
    match is_within || MODULES.contains(&lower.as_str()) {
        true => format!("{name}_"),
        false => name,
    }
}

/// What a definition brings into the scope of its file's module, with where it is from.
fn names_of(backend: &Backend<'_>, id: DefId) -> Vec<(String, Span)> {
    let def = backend.schema.def(id);
    let mut names = Vec::new();
    match &def.body {
        DefBody::Alias(_) => {}
        DefBody::Enum(members) => names.extend(
            members
                .iter()
                .map(|member| (member_name(def, &member.name), member.span)),
        ),
        _ => names.push((type_name(def), def.span)),
    }
    if let DefBody::Union(union) = &def.body {
        let arms = union.arm_fields();
        names.extend(arms.map(|arm| (arm_name(def, &arm.name), arm.span)));
    }
    let described = !matches!(backend.described(id), Described::Not);
    if described && !backend.is_predeclared(id) {
        names.push((descriptor_name(&backend.variable(id)), def.span));
    }
    names
}

/// The other files of which types are held by value: only their modules are used, because modules,
/// unlike headers, cannot use each other.
fn used_files(schema: &Schema, file: FileId) -> BTreeSet<FileId> {
    let mut files = BTreeSet::new();
    let mut seen: HashSet<DefId> = HashSet::new();
    let mut open: Vec<DefId> = schema.of_file(file).collect();
    while let Some(id) = open.pop() {
        let def = schema.def(id);
        let is_alias = matches!(def.body, DefBody::Alias(_));
        if def.file != file && !is_alias {
            files.insert(def.file);
        } else if seen.insert(id) {
            // A typedef is written out where it is used, so that what it stands for is held.
            open.extend(check::embedded(schema, id));
        }
    }
    files
}
