//! `interweave compile`: types of .x files as declarations of a language.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use interweave_idl::{compile, write_files, CompileOptions, DataLanguage, Output};

use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  interweave compile list.x --lang c              list.h and list.c beside you
  interweave compile geo/*.x --lang cpp --out gen -I geo
  interweave compile xdr/*.x --lang c --out gen -I . --type time_t=hyper
  interweave compile list.x --lang fortran        list.f90 beside list.h and list.c
  interweave compile list.x --lang java --package org.example --out src
                                                  a class for each struct, in src/org/example
  interweave compile list.x --lang python         list.py, and list.pyi for type checkers
  interweave compile list.x --lang typescript     list.ts, types of the package interweave

An error is FILE:LINE:COL: error: ..., and the exit status is 1; nothing is written then.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CompileArgs {
    /// The .x files (XDR, RFC 4506, and the dialects of rpcgen and others)
    #[arg(required = true, value_name = "FILE.x")]
    files: Vec<PathBuf>,
    /// The language of the declarations
    #[arg(long)]
    lang: Language,
    /// Where to write [default: the current directory]. Files given together that include each
    /// other by paths with folders keep these folders
    #[arg(
        long,
        value_name = "DIR",
        default_value = ".",
        hide_default_value = true
    )]
    out: PathBuf,
    /// Overwrite files that were not generated, too
    #[arg(long)]
    force: bool,
    /// Where included files are looked for, besides the including file's directory
    #[arg(short = 'I', value_name = "DIR")]
    include_dirs: Vec<PathBuf>,
    /// Defines a name for #ifdef and #if
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    defines: Vec<String>,
    /// Says what a type of a C header is, where a file
    /// uses one: `time_t=hyper`, `uuid_t=opaque[16]`
    #[arg(long = "type", value_name = "NAME=TYPE")]
    types: Vec<String>,
    /// The package of Java's classes and Python's modules [default: the one without a name]
    #[arg(long, value_name = "P", default_value = "", hide_default_value = true)]
    package: String,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Language {
    C,
    Cpp,
    Fortran,
    Java,
    Python,
    Typescript,
}

impl From<Language> for DataLanguage {
    fn from(language: Language) -> Self {
        match language {
            Language::C => DataLanguage::C,
            Language::Cpp => DataLanguage::Cpp,
            Language::Fortran => DataLanguage::Fortran,
            Language::Java => DataLanguage::Java,
            Language::Python => DataLanguage::Python,
            Language::Typescript => DataLanguage::TypeScript,
        }
    }
}

pub fn run(args: CompileArgs) -> Result<(), Failure> {
    let options = CompileOptions {
        files: args.files,
        output: Output::Data(args.lang.into()),
        include_dirs: args.include_dirs,
        defines: args.defines,
        types: args.types,
        package: args.package,
    };
    let compiled =
        compile(options).map_err(|diagnostics| Failure::already_worded(diagnostics.to_string()))?;
    eprint!("{}", compiled.warnings);
    write_files(&compiled.files, &args.out, args.force).map_err(Failure::new)
}
