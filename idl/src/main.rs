//! `interweave-idl`: the compiler by itself, for the build. Users have `interweave compile`.

use interweave_idl::{run, CompileOptions, Output};
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
usage: interweave-idl data  --lang c|cpp    [--out DIR] [-I DIR] [-D NAME[=VALUE]] FILE.x...
       interweave-idl codec --lang rust|cpp [--out DIR] [-I DIR] [-D NAME[=VALUE]] FILE.x...";

struct Request {
    options: CompileOptions,
    out: PathBuf,
}

fn main() -> ExitCode {
    let request = match parse(std::env::args().skip(1).collect()) {
        Ok(request) => request,
        Err(message) => {
            eprintln!("interweave-idl: {message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let files = match run(request.options) {
        Ok(files) => files,
        Err(diagnostics) => {
            eprint!("{diagnostics}");
            return ExitCode::FAILURE;
        }
    };
    for file in files {
        if let Err(error) = file.write(&request.out) {
            let path = request.out.join(&file.path);
            eprintln!("interweave-idl: cannot write {}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn parse(arguments: Vec<String>) -> Result<Request, String> {
    let mut arguments = arguments.into_iter();
    let codec = match arguments.next().as_deref() {
        Some("codec") => true,
        Some("data") => false,
        _ => return Err("say `data` or `codec` first".into()),
    };
    let mut output = None;
    let mut out = PathBuf::from(".");
    let (mut files, mut include_dirs, mut defines) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} wants a value"));
        match argument.as_str() {
            "--lang" if codec => output = Some(Output::Codec(value()?.parse()?)),
            "--lang" => output = Some(Output::Data(value()?.parse()?)),
            "--out" => out = value()?.into(),
            "-I" => include_dirs.push(value()?.into()),
            "-D" => defines.push(value()?),
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
        },
        out,
    })
}
