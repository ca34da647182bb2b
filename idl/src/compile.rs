//! One run of the compiler: options in, generated files or diagnostics out.

use crate::backends;
use crate::diagnostics::{Diagnostic, Diagnostics, Report};
use crate::frontend::{self, Include, Preprocessor};
use crate::ir::{lower, Schema};
use crate::source::{FileId, SourceMap};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// What to make of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Types and registered descriptors for a program's own data.
    Data(DataLanguage),
    /// Encoders and decoders of the protocol's messages.
    Codec(CodecLanguage),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataLanguage {
    C,
    Cpp,
    Fortran,
    Java,
    TypeScript,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodecLanguage {
    Rust,
    Cpp,
}

impl FromStr for DataLanguage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "c" => Ok(DataLanguage::C),
            "cpp" | "c++" => Ok(DataLanguage::Cpp),
            "fortran" => Ok(DataLanguage::Fortran),
            "java" => Ok(DataLanguage::Java),
            "typescript" => Ok(DataLanguage::TypeScript),
            _ => Err(format!(
                "unknown language `{text}`; c, cpp, fortran, java and typescript are known"
            )),
        }
    }
}

impl FromStr for CodecLanguage {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "rust" => Ok(CodecLanguage::Rust),
            "cpp" => Ok(CodecLanguage::Cpp),
            _ => Err(format!(
                "unknown language `{text}`; codecs are made for rust and cpp"
            )),
        }
    }
}

/// One run's input.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    pub files: Vec<PathBuf>,
    pub output: Output,
    /// Where included files are looked for, besides the including file's own directory.
    pub include_dirs: Vec<PathBuf>,
    /// `NAME` or `NAME=VALUE`.
    pub defines: Vec<String>,
}

/// A file to write, its path relative to the output directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedFile {
    pub path: PathBuf,
    pub text: String,
}

/// A checked unit, as backends see it.
pub(crate) struct Unit<'a> {
    pub sources: &'a SourceMap,
    pub schema: &'a Schema,
    pub includes: &'a [Include],
    /// The files given, not those that they include.
    pub roots: &'a [FileId],
}

/// Compiles the files. Data files are compiled each for itself; a protocol's files all together.
pub fn run(options: CompileOptions) -> Result<Vec<GeneratedFile>, Diagnostics> {
    let mut sources = SourceMap::default();
    let mut report = Report::default();
    let mut generated = Vec::new();
    let units: Vec<&[PathBuf]> = match options.output {
        Output::Codec(_) => vec![&options.files],
        Output::Data(_) => options.files.chunks(1).collect(),
    };
    if options.files.is_empty() {
        report.error(Diagnostic::global("no input file"));
    }
    for files in units {
        generated.extend(compile_unit(files, &options, &mut sources, &mut report));
    }
    check_outputs(&generated, &mut report);
    match report.is_empty() {
        true => Ok(generated.into_iter().map(|(_, file)| file).collect()),
        false => Err(Diagnostics::new(sources, report)),
    }
}

/// The files generated for one unit, each with the input it is made from.
fn compile_unit(
    files: &[PathBuf],
    options: &CompileOptions,
    sources: &mut SourceMap,
    report: &mut Report,
) -> Vec<(PathBuf, GeneratedFile)> {
    let mut unit_report = Report::default();
    let mut preprocessor = Preprocessor::new(
        sources,
        &mut unit_report,
        &options.include_dirs,
        &options.defines,
    );
    let roots: Vec<FileId> = files
        .iter()
        .filter_map(|file| preprocessor.root(file))
        .collect();
    let (tokens, includes) = preprocessor.finish();
    let definitions = frontend::parse(&tokens, &mut unit_report);
    // Names that a wrong definition would have defined are unknown to the others: one error is enough.
    if !unit_report.is_empty() {
        report.append(unit_report);
        return Vec::new();
    }
    let rules = lower::Rules {
        members_per_file: matches!(options.output, Output::Codec(_)),
    };
    let schema = lower::lower(&definitions, rules, &mut unit_report);
    let mut generated = Vec::new();
    if unit_report.is_empty() {
        let unit = Unit {
            sources,
            schema: &schema,
            includes: &includes,
            roots: &roots,
        };
        generated = backends::generate(&unit, options.output, &mut unit_report);
    }
    report.append(unit_report);
    generated
}

/// Two inputs must not generate one file: the second would silently replace the first.
fn check_outputs(generated: &[(PathBuf, GeneratedFile)], report: &mut Report) {
    let mut seen: HashMap<String, &Path> = HashMap::new();
    for (input, file) in generated {
        // Compared without case, because some file systems do.
        let key = file.path.to_string_lossy().to_lowercase();
        let Some(first) = seen.insert(key, input) else {
            continue;
        };
        if first != input {
            let message = format!(
                "{} and {} both make {}; rename one, or give them different --out directories",
                first.display(),
                input.display(),
                file.path.display()
            );
            report.error(Diagnostic::global(message));
        }
    }
}

impl GeneratedFile {
    /// Writes the file below a directory, unless it is there with the same text already: an
    /// unchanged file keeps its time, so that nothing is built again for it.
    pub fn write(&self, dir: &Path) -> std::io::Result<()> {
        let path = dir.join(&self.path);
        if std::fs::read_to_string(&path).is_ok_and(|text| text == self.text) {
            return Ok(());
        }
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, &self.text)
    }
}
