//! From the checked schema to text.
//!
//! Generated text depends only on the .x files: no dates, no machine, no absolute paths, so that
//! generating again changes nothing.

mod c;
mod codec;
mod cpp;
mod fortran;
mod limits;
mod names;
mod order;
mod text;
mod typescript;

pub use limits::descriptor_limits;

use crate::compile::{CodecLanguage, DataLanguage, GeneratedFile, Output, Unit, GENERATED_MARK};
use crate::diagnostics::{Diagnostic, Report};
use crate::source::FileId;
use std::path::PathBuf;

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
    }
    if !report.is_empty() {
        return Vec::new();
    }
    match output {
        Output::Codec(CodecLanguage::Rust) => codec::rust::generate(unit, report),
        Output::Codec(CodecLanguage::Cpp) => codec::cpp::generate(unit, report),
        Output::Codec(CodecLanguage::TypeScript) => codec::typescript::generate(unit, report),
        Output::Data(DataLanguage::C) => c::generate(unit, report),
        Output::Data(DataLanguage::Cpp) => cpp::generate(unit, report),
        Output::Data(DataLanguage::Fortran) => fortran::generate(unit, report),
        Output::Data(DataLanguage::TypeScript) => typescript::generate(unit, report),
        Output::Data(DataLanguage::Java) => {
            let message = "--lang java is not available yet; c, cpp, fortran and typescript are";
            report.error(Diagnostic::global(message));
            Vec::new()
        }
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

/// The file's name without directory and `.x`.
fn stem(unit: &Unit<'_>, file: FileId) -> String {
    let stem = unit.sources.path(file).file_stem();
    stem.map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default()
}
