//! The structs that the cluster's processes read in place: what C++ makes of them, and what is
//! refused because it cannot be read so.

mod golden;

use golden::{files_of, tests_dir, Expected};
use interweave_idl::{run, CodecLanguage, CompileOptions, Output};
use std::path::{Path, PathBuf};
use std::process::Command;

fn cluster(file: PathBuf, language: CodecLanguage) -> CompileOptions {
    CompileOptions {
        files: vec![file],
        output: Output::Codec(language),
        include_dirs: Vec::new(),
        package: String::new(),
        defines: Vec::new(),
        types: Vec::new(),
    }
}

#[test]
fn structs_lie_as_they_say_and_decoders_refuse_what_is_none() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cluster-check");
    let own = tests_dir().join("cluster");
    let mut options = cluster(own.join("shapes.x"), CodecLanguage::Cluster);
    options.files.push(own.join("stamps.x"));
    for file in run(options).unwrap_or_else(|diagnostics| panic!("{diagnostics}")) {
        file.write(&dir).unwrap();
    }
    let program = dir.join("check");
    let output = Command::new("g++")
        .args(["-std=c++20", "-O1", "-g", "-fsanitize=address,undefined"])
        .args(["-fno-sanitize-recover=all", "-Wall", "-Wextra", "-Werror"])
        .arg("-I")
        .arg(&dir)
        .arg("-I")
        .arg(tests_dir().join("../../cluster"))
        .arg(own.join("check.cc"))
        .arg("-o")
        .arg(&program)
        .output()
        .expect("g++ runs");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "g++:\n{messages}");
    let output = Command::new(&program).output().unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{messages}");
}

#[test]
fn what_cannot_be_read_in_place_is_an_error_with_its_place() {
    let dir = tests_dir().join("errors/cluster");
    let mut expected = Expected::new();
    for path in files_of(&dir, "x") {
        let text = match run(cluster(path.clone(), CodecLanguage::Cluster)) {
            Ok(files) => panic!("accepted, and made {} files", files.len()),
            Err(diagnostics) => diagnostics.to_string(),
        };
        let shown = text.replace(&format!("{}/", dir.display()), "");
        expected.compare(&path.with_extension("txt"), &shown);
    }
    expected.finish();
}

#[test]
fn an_enum_in_a_smaller_integer_is_refused_where_enums_take_four_bytes() {
    let file = tests_dir().join("cluster/shapes.x");
    let error = run(cluster(file, CodecLanguage::Rust)).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("`shapes_colour` says what integer holds it"),
        "{text}"
    );
}
