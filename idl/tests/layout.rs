//! The tables as the C and C++ compilers see them: registered before main, with the sizes and
//! offsets of the types. layout/check.c has the checks.

mod golden;

use golden::tests_dir;
use interweave_idl::{run, CompileOptions, DataLanguage, Output};
use std::path::{Path, PathBuf};
use std::process::Command;

fn build(dir: &Path, command: &str, arguments: &[&str]) {
    let output = Command::new(command)
        .current_dir(dir)
        .args(arguments)
        .arg("-I.")
        .arg("-I")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../native/include"))
        .output()
        .unwrap_or_else(|error| panic!("cannot run {command}: {error}"));
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}:\n{messages}");
}

fn check(language: DataLanguage, name: &str, tables: &[&str], linker: &str) {
    let dir: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&dir).unwrap();
    let options = CompileOptions {
        files: vec![tests_dir().join("layout/layout.x")],
        output: Output::Data(language),
        include_dirs: Vec::new(),
        package: String::new(),
        defines: Vec::new(),
        types: Vec::new(),
    };
    for file in run(options).unwrap_or_else(|diagnostics| panic!("{diagnostics}")) {
        file.write(&dir).unwrap();
    }
    let check = tests_dir().join("layout/check.c");
    let strict = ["-Wall", "-Wextra", "-Werror", "-c"];
    let c = [
        &["-std=c99"][..],
        &strict,
        &[check.to_str().unwrap(), "-o", "check.o"],
    ]
    .concat();
    build(&dir, "gcc", &c);
    build(
        &dir,
        linker,
        &[&strict[..], tables, &["-o", "tables.o"]].concat(),
    );
    build(&dir, linker, &["check.o", "tables.o", "-o", "check"]);
    let output = Command::new(dir.join("check")).output().unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{messages}");
}

#[test]
fn c_tables_say_what_the_compiler_says() {
    check(
        DataLanguage::C,
        "layout-c",
        &["-std=c99", "layout.c"],
        "gcc",
    );
}

#[test]
fn cpp_tables_say_what_the_compiler_says() {
    check(
        DataLanguage::Cpp,
        "layout-cpp",
        &["-std=c++20", "layout.cpp"],
        "g++",
    );
}

#[test]
fn c_tables_also_compile_as_cpp() {
    check(
        DataLanguage::C,
        "layout-c-as-cpp",
        &["-std=c++20", "-x", "c++", "layout.c"],
        "g++",
    );
}
