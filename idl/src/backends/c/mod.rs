//! C types for a program's own data, and the tables that describe them to the library.
//!
//! `list.x` becomes `list.h` with the types and their descriptors' names (`node_t`, `IW_node_t`),
//! and `list.c` with the tables of `<interweave/type_table.h>`, which registers them when the
//! program loads. Sizes and offsets are expressions for the C compiler, so the text
//! is the same everywhere.

pub mod checks;
mod declare;
pub mod header;
mod table;

use super::order::{self, Cycles};
use super::{names, output_path};
use crate::compile::{GeneratedFile, Unit};
use crate::diagnostics::Report;
use crate::ir::{Def, DefBody, DefId, Schema, Type};
use crate::source::FileId;
use std::path::PathBuf;

/// How the tables' file registers them when the program loads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Registration {
    Constructor,
    StaticInitialiser,
}

pub fn generate(unit: &Unit<'_>, report: &mut Report) -> Vec<(PathBuf, GeneratedFile)> {
    generate_as(unit, "c", Registration::Constructor, report)
}

/// The header, and the tables in a file of the given extension.
pub fn generate_as(
    unit: &Unit<'_>,
    extension: &str,
    registration: Registration,
    report: &mut Report,
) -> Vec<(PathBuf, GeneratedFile)> {
    let mut files = Vec::new();
    for &file in unit.roots {
        let backend = Backend::new(unit, file);
        checks::check(&backend, report);
        if !report.is_empty() {
            continue;
        }
        let input = unit.sources.path(file).to_path_buf();
        let header = header::text(&backend);
        let tables = table::text(&backend, registration);
        for (extension, text) in [("h", header), (extension, tables)] {
            let path = output_path(unit, file, extension);
            files.push((input.clone(), GeneratedFile { path, text }));
        }
    }
    files
}

/// One file being generated.
pub struct Backend<'a> {
    pub unit: &'a Unit<'a>,
    pub schema: &'a Schema,
    pub file: FileId,
    /// The file's definitions, what is held by value before its holder.
    pub ordered: Vec<DefId>,
}

/// How a definition is described.
pub enum Described {
    /// An object of its own, `IW_def_<name>`.
    Own,
    /// The descriptor of what a typedef stands for.
    Other,
    /// Constants have none.
    Not,
}

impl<'a> Backend<'a> {
    pub fn new(unit: &'a Unit<'a>, file: FileId) -> Self {
        let cycles = Cycles::of(unit.schema);
        Backend {
            unit,
            schema: unit.schema,
            file,
            ordered: order::definition_order(unit.schema, file, &cycles),
        }
    }

    /// The name of a definition in C.
    pub fn name(&self, id: DefId) -> String {
        c_type_name(self.schema.def(id))
    }

    /// `IW_<name>`, the variable by which programs name the type.
    pub fn variable(&self, id: DefId) -> String {
        names::descriptor_name(&self.schema.def(id).full_name("_"))
    }

    /// `IW_def_<name>`, the object that it points to.
    pub fn object(&self, id: DefId) -> String {
        format!("IW_def_{}", self.schema.def(id).full_name("_"))
    }

    pub fn described(&self, id: DefId) -> Described {
        match &self.schema.def(id).body {
            DefBody::Const(_) => Described::Not,
            DefBody::Enum(_) | DefBody::Struct(_) | DefBody::Union(_) => Described::Own,
            DefBody::Alias(ty) => match ty {
                Type::Primitive(crate::ir::Primitive::Quadruple) => Described::Own,
                Type::Primitive(_) | Type::Named(_) => Described::Other,
                _ => Described::Own,
            },
        }
    }

    /// Whether the file's own typedef says what C's headers say already (`typedef unsigned hyper
    /// uint64_t;`), so that neither the type nor a variable of ours is to be declared.
    pub fn is_predeclared(&self, id: DefId) -> bool {
        match &self.schema.def(id).body {
            DefBody::Alias(Type::Primitive(primitive)) => {
                names::standard_integer(&self.schema.def(id).full_name("_")) == Some(*primitive)
            }
            _ => false,
        }
    }
}

fn c_type_name(def: &Def) -> String {
    let name = def.full_name("_");
    let standard = match &def.body {
        DefBody::Alias(Type::Primitive(primitive)) => {
            names::standard_integer(&name) == Some(*primitive)
        }
        _ => false,
    };
    match standard {
        true => name,
        false => names::c_global(&name),
    }
}
