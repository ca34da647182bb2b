//! `interweave-idl`: the compiler by itself, for the build. Users have `interweave compile`.

use interweave_idl::{compile, write_files, CompileOptions, Output};
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
usage: interweave-idl data  --lang c|cpp|fortran|java|python|typescript OPTIONS FILE.x...
       interweave-idl codec --lang rust|cpp|typescript|java|cluster OPTIONS FILE.x...
       interweave-idl interface --lang c|cpp|fortran|python|typescript|java|rust OPTIONS FILE.x
options: [--out DIR] [--force] [-I DIR] [-D NAME[=VALUE]] [--type NAME=TYPE]
         [--package P]";

struct Request {
    options: CompileOptions,
    out: PathBuf,
    force: bool,
}

fn main() -> ExitCode {
    let request = match parse(std::env::args().skip(1).collect()) {
        Ok(request) => request,
        Err(message) => {
            eprintln!("interweave-idl: {message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let compiled = match compile(request.options) {
        Ok(compiled) => compiled,
        Err(diagnostics) => {
            eprint!("{diagnostics}");
            return ExitCode::FAILURE;
        }
    };
    eprint!("{}", compiled.warnings);
    if let Err(text) = write_files(&compiled.files, &request.out, request.force) {
        eprintln!("interweave-idl: {text}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn parse(arguments: Vec<String>) -> Result<Request, String> {
    let mut arguments = arguments.into_iter();
    let output_of = match arguments.next().as_deref() {
        Some("codec") => |lang: String| lang.parse().map(Output::Codec),
        Some("data") => |lang: String| lang.parse().map(Output::Data),
        Some("interface") => |lang: String| lang.parse().map(Output::Interface),
        _ => return Err("say `data`, `codec` or `interface` first".into()),
    };
    let mut output = None;
    let mut out = PathBuf::from(".");
    let (mut force, mut package) = (false, String::new());
    let (mut files, mut include_dirs) = (Vec::new(), Vec::new());
    let (mut defines, mut types) = (Vec::new(), Vec::new());
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} wants a value"));
        match argument.as_str() {
            "--lang" => output = Some(output_of(value()?)?),
            "--out" => out = value()?.into(),
            "--force" => force = true,
            "--package" => package = value()?,
            "-I" => include_dirs.push(value()?.into()),
            "-D" => defines.push(value()?),
            "--type" => types.push(value()?),
            other if other.starts_with('-') => return Err(format!("unknown option {other}")),
            file => files.push(file.into()),
        }
    }
    Ok(Request {
        options: CompileOptions {
            files,
            output: output.ok_or("--lang is missing")?,
            include_dirs,
            defines,
            types,
            package,
        },
        out,
        force,
    })
}
