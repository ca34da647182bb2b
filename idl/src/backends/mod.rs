//! From the checked schema to text.
//!
//! Generated text depends only on the .x files: no dates, no machine, no absolute paths, so that
//! generating again changes nothing.

mod c;
mod codec;
mod cpp;
mod definitions;
mod fortran;
mod interface;
mod java;
mod library_names;
mod limits;
mod names;
mod order;
mod python;
mod text;
mod typescript;

pub use limits::descriptor_limits;

use crate::compile::{CodecLanguage, DataLanguage, GeneratedFile, Output, Unit, GENERATED_MARK};
use crate::diagnostics::{Diagnostic, Report};
use crate::frontend::Include;
use crate::ir::Schema;
use crate::layout;
use crate::source::FileId;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The files generated for a unit, each with the input it is made from.
pub(crate) fn generate(
    unit: &Unit<'_>,
    output: Output,
    report: &mut Report,
) -> Vec<(PathBuf, GeneratedFile)> {
    match output {
        Output::Data(_) => unit
            .roots
            .iter()
            .for_each(|&file| limits::check(unit.schema, file, report)),
        Output::Codec(_) => codec::check(unit.schema, report),
        Output::Interface(_) => {}
    }
    if output != Output::Codec(CodecLanguage::Cluster) {
        refuse_held_enums(unit.schema, report);
    }
    if !report.is_empty() {
        return Vec::new();
    }
    match output {
        Output::Codec(CodecLanguage::Rust) => codec::rust::generate(unit, report),
        Output::Codec(CodecLanguage::Cpp) => codec::cpp::generate(unit, report),
        Output::Codec(CodecLanguage::Cluster) => codec::cluster::generate(unit, report),
        Output::Codec(CodecLanguage::Java) => codec::java::generate(unit, report),
        Output::Codec(CodecLanguage::TypeScript) => codec::typescript::generate(unit, report),
        Output::Data(DataLanguage::C) => c::generate(unit, report),
        Output::Data(DataLanguage::Cpp) => cpp::generate(unit, report),
        Output::Data(DataLanguage::Fortran) => fortran::generate(unit, report),
        Output::Data(DataLanguage::Java) => java::generate(unit, report),
        Output::Data(DataLanguage::Python) => python::generate(unit, report),
        Output::Data(DataLanguage::TypeScript) => typescript::generate(unit, report),
        Output::Interface(language) => interface::generate(unit, language, report),
    }
}

/// An enum takes four bytes in XDR, whatever integer is to hold it.
fn refuse_held_enums(schema: &Schema, report: &mut Report) {
    for def in schema.defs.iter().filter(|def| def.held_in.is_some()) {
        let message = format!("`{}` says what integer holds it", def.name);
        let hint = "only the cluster's messages have such enums; leave out the `:` and the type";
        report.error(Diagnostic::new(def.span, message).hint(hint));
    }
}

/// The first line of a generated file, without the comment mark.
fn first_line(unit: &Unit<'_>, file: FileId) -> String {
    format!(
        "{GENERATED_MARK} from {}; do not edit.",
        shown_path(unit, file)
    )
}

/// A file's path for generated text: as given, but never absolute, which would name a machine.
fn shown_path(unit: &Unit<'_>, file: FileId) -> String {
    let path = unit.sources.path(file);
    match (path.is_absolute(), path.file_name()) {
        (true, Some(name)) => name.to_string_lossy().into_owned(),
        _ => path.to_string_lossy().into_owned(),
    }
}

/// Where what is generated of a file goes, below --out.
fn output_path(unit: &Unit<'_>, file: FileId, extension: &str) -> PathBuf {
    let name = format!("{}.{extension}", stem(unit, file));
    folder(unit, file).unwrap_or(Path::new("")).join(name)
}

/// An included file as the generated ones of `from` name it, without its extension.
fn included_path(unit: &Unit<'_>, from: FileId, include: &Include) -> String {
    match (folder(unit, from), folder(unit, include.to)) {
        (Some(from), Some(to)) => layout::way(from, to, &stem(unit, include.to)),
        _ => {
            let written = &include.written;
            written.strip_suffix(".x").unwrap_or(written).to_string()
        }
    }
}

/// The included files of one, each once, as generated ones name them.
fn included_paths(unit: &Unit<'_>, from: FileId) -> BTreeSet<String> {
    let own = unit.includes.iter().filter(|include| include.from == from);
    own.map(|include| included_path(unit, from, include))
        .collect()
}

fn folder<'a>(unit: &Unit<'a>, file: FileId) -> Option<&'a Path> {
    unit.layout.folder(unit.sources.path(file))
}

/// A text as C, C++ and TypeScript write it, and Python but for question marks.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            // Two question marks may begin a trigraph of C.
            '?' if quoted.ends_with('?') => quoted.push_str("\\?"),
            '\\' | '"' => quoted.extend(['\\', c]),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// The file's name without directory and `.x`.
fn stem(unit: &Unit<'_>, file: FileId) -> String {
    let stem = unit.sources.path(file).file_stem();
    stem.map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default()
}
