//! Python for a program's own data: of each .x file a module, which declares the types when it is
//! imported, and its stub, which tells type checkers what values look like.
//!
//! Types have the names of the .x file, so that they are the types of programs in other languages.
//! A module finds its includes as `folder.name`, below --package if that is given.

mod module;
mod names;
mod stub;

use super::order::{self, Cycles};
use super::{first_line, folder, output_path, stem};
use crate::compile::{GeneratedFile, Unit};
use crate::diagnostics::Report;
use crate::frontend::Include;
use crate::ir::{DefBody, DefId, Schema, Type};
use crate::source::FileId;
use names::type_name;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

pub fn generate(unit: &Unit<'_>, report: &mut Report) -> Vec<(PathBuf, GeneratedFile)> {
    names::check(unit.schema, report);
    let mut files = Vec::new();
    for &file in unit.roots {
        let ordered = order::definition_order(unit.schema, file, &Cycles::of(unit.schema));
        let head = format!("# {}", first_line(unit, file));
        let imports = imports(unit, file);
        let both = [
            ("py", module::text(unit.schema, &ordered, &head, &imports)),
            ("pyi", stub::text(unit.schema, &ordered, &head, &imports)),
        ];
        for (extension, text) in both {
            let path = output_path(unit, file, extension);
            let source = unit.sources.path(file).to_path_buf();
            files.push((source, GeneratedFile { path, text }));
        }
    }
    files
}

/// Lines that import what the file's definitions name from other files.
fn imports(unit: &Unit<'_>, file: FileId) -> Vec<String> {
    let schema = unit.schema;
    let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for id in schema.of_file(file) {
        for other in order::mentioned(schema.def(id)) {
            let home = schema.def(other).file;
            if home == file {
                continue;
            }
            let mut includes = unit.includes.iter();
            let include = includes.find(|include| include.from == file && include.to == home);
            let module = include.map_or_else(|| stem(unit, home), |found| path_of(unit, found));
            let names = used.entry(dotted(unit.package, &module)).or_default();
            names.insert(type_name(schema.def(other)));
        }
    }
    let line = |(module, names): (String, BTreeSet<String>)| {
        // So that a stub passes them on.
        let names: Vec<String> = names.iter().map(|n| format!("{n} as {n}")).collect();
        format!("from {module} import {}", names.join(", "))
    };
    used.into_iter().map(line).collect()
}

/// Where the module of an included file is, below --out.
fn path_of(unit: &Unit<'_>, include: &Include) -> String {
    match folder(unit, include.to) {
        Some(folder) => folder
            .join(stem(unit, include.to))
            .to_string_lossy()
            .into_owned(),
        None => {
            let written = &include.written;
            written.strip_suffix(".x").unwrap_or(written).to_string()
        }
    }
}

/// `net/parts` -> `package.net.parts`
fn dotted(package: &str, path: &str) -> String {
    let parts = path
        .split('/')
        .filter(|part| !matches!(*part, "" | "." | ".."));
    let package = Some(package).filter(|package| !package.is_empty());
    let parts: Vec<&str> = package.into_iter().chain(parts).collect();
    parts.join(".")
}

/// The definition that a typedef merely renames, or None.
fn renamed(schema: &Schema, id: DefId) -> Option<DefId> {
    match &schema.def(id).body {
        DefBody::Alias(Type::Named(target)) => Some(*target),
        _ => None,
    }
}

/// A text as Python writes it.
fn quoted(text: &str) -> String {
    super::quoted(text).replace("\\?", "?")
}
