//! The interface's numbers of an .x file that shows more than the project's own; the numbers of the
//! project are compared in committed.rs.

mod golden;

use golden::{tests_dir, Expected};
use interweave_idl::{run, CompileOptions, InterfaceLanguage, Output};

#[test]
fn the_numbers_in_java_are_as_kept() {
    let dir = tests_dir().join("interface");
    let options = CompileOptions {
        files: vec![dir.join("sample.x")],
        output: Output::Interface(InterfaceLanguage::Java),
        include_dirs: Vec::new(),
        package: String::new(),
        defines: Vec::new(),
        types: Vec::new(),
    };
    let files = run(options).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    assert_eq!(files.len(), 1);
    let mut expected = Expected::new();
    expected.compare(&dir.join(&files[0].path), &files[0].text);
    expected.finish();
}
