//! The XDR compiler: a file becomes code or diagnostics, which can be shown.

use std::fs;

use interweave_idl::{run as compile, CompileOptions, DataLanguage, Output};

use crate::scratch;

pub fn run(data: &[u8]) {
    // An included device would never end.
    if data
        .windows(4)
        .any(|window| window == b"/dev" || window == b"/pro")
    {
        return;
    }
    let path = scratch::directory().join("input.x");
    fs::write(&path, data).expect("an input file");
    for language in [DataLanguage::C, DataLanguage::Cpp] {
        let compiled = compile(CompileOptions {
            files: vec![path.clone()],
            output: Output::Data(language),
            include_dirs: Vec::new(),
            package: String::new(),
            defines: Vec::new(),
            types: Vec::new(),
        });
        match compiled {
            Ok(files) => assert!(!files.is_empty()),
            Err(diagnostics) => assert!(!diagnostics.to_string().is_empty()),
        }
    }
}
