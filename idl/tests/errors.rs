//! Each wrong file of tests/errors has its messages beside it, word for word. To accept changed
//! messages, run the test with IW_UPDATE_GOLDEN=1 and read the difference.

mod golden;

use golden::{files_of, tests_dir, Expected};
use interweave_idl::{run, CompileOptions, DataLanguage, Output};
use std::path::{Path, PathBuf};

fn data(files: Vec<PathBuf>) -> CompileOptions {
    CompileOptions {
        files,
        output: Output::Data(DataLanguage::C),
        include_dirs: Vec::new(),
        package: String::new(),
        defines: Vec::new(),
        types: Vec::new(),
    }
}

fn messages(options: CompileOptions) -> String {
    match run(options) {
        Ok(files) => panic!("accepted, and made {} files", files.len()),
        Err(diagnostics) => diagnostics.to_string(),
    }
}

#[test]
fn wrong_files_are_answered_with_their_messages() {
    let dir = tests_dir().join("errors");
    let mut expected = Expected::new();
    for path in files_of(&dir, "x") {
        let text = messages(data(vec![path.clone()]));
        // The messages name the file as it was given, which depends on where the tests run.
        let shown = text.replace(&format!("{}/", dir.display()), "");
        assert!(shown.starts_with(&*path.file_name().unwrap().to_string_lossy()));
        expected.compare(&path.with_extension("txt"), &shown);
    }
    expected.finish();
}

/// What C can and another language cannot say: messages are kept in a directory of errors.
fn cannot_be_said(language: DataLanguage, directory: &str) {
    let dir = tests_dir().join("errors").join(directory);
    let mut expected = Expected::new();
    for path in files_of(&dir, "x") {
        assert!(run(data(vec![path.clone()])).is_ok(), "C can say it");
        let mut options = data(vec![path.clone()]);
        options.output = Output::Data(language);
        let shown = messages(options).replace(&format!("{}/", dir.display()), "");
        expected.compare(&path.with_extension("txt"), &shown);
    }
    expected.finish();
}

#[test]
fn what_fortran_cannot_say_is_an_error_with_its_place() {
    cannot_be_said(DataLanguage::Fortran, "fortran");
}

#[test]
fn names_that_are_one_in_typescript_are_errors() {
    cannot_be_said(DataLanguage::TypeScript, "typescript");
}

#[test]
fn names_that_are_one_in_python_are_errors() {
    cannot_be_said(DataLanguage::Python, "python");
}

#[test]
fn what_java_cannot_say_is_an_error_with_its_place() {
    cannot_be_said(DataLanguage::Java, "java");
}

#[test]
fn two_files_that_make_one_output_are_refused() {
    let dir = tests_dir().join("dialects");
    let text = messages(data(vec![dir.join("list.x"), dir.join("other/list.x")]));
    assert!(text.contains("both make list.h"), "{text}");
}

#[test]
fn a_missing_file_is_named() {
    let text = messages(data(vec![PathBuf::from("no/such/file.x")]));
    assert!(
        text.starts_with("error: cannot read no/such/file.x:"),
        "{text}"
    );
}

#[test]
fn no_file_is_an_error() {
    assert_eq!(messages(data(Vec::new())), "error: no input file\n");
}

#[test]
fn an_include_that_includes_itself_is_read_once() {
    let dir = tests_dir().join("dialects");
    let files = run(data(vec![dir.join("mutual_a.x")])).expect("accepted");
    let header = &files
        .iter()
        .find(|file| file.path == Path::new("mutual_a.h"))
        .unwrap()
        .text;
    assert_eq!(header.matches("struct a_t {").count(), 1);
}
