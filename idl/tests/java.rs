//! Java of files as people write them, in every dialect: javac must take it without a warning,
//! together with the client library that it uses. Some classes are kept word for word in
//! tests/golden/java.

mod golden;

use golden::{files_of, tests_dir, Expected};
use interweave_idl::{run, CompileOptions, DataLanguage, GeneratedFile, Output};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The files of the tests that a file includes: their classes must be in its package.
fn add_included(path: &Path, found: &mut BTreeSet<PathBuf>) {
    if !found.insert(path.to_path_buf()) {
        return;
    }
    let text = std::fs::read_to_string(path).unwrap();
    for line in text.lines() {
        let Some(name) = line.trim_start_matches('%').strip_prefix("#include \"") else {
            continue;
        };
        // rpcgen's users include the header that is made of a file.
        let name = name.split('"').next().unwrap();
        let included = path.with_file_name(name).with_extension("x");
        if included.is_file() {
            add_included(&included, found);
        }
    }
}

/// The classes of files, in one package.
fn compile(files: Vec<PathBuf>, package: &str) -> Vec<GeneratedFile> {
    let options = CompileOptions {
        files,
        output: Output::Data(DataLanguage::Java),
        include_dirs: Vec::new(),
        package: package.to_string(),
        defines: Vec::new(),
        types: Vec::new(),
    };
    run(options).unwrap_or_else(|diagnostics| panic!("{diagnostics}"))
}

/// Writes the classes of a file and of those that it includes, in a package of their own.
fn write_package(path: &Path, package: &str, dir: &Path) -> Vec<PathBuf> {
    let mut files = BTreeSet::new();
    add_included(path, &mut files);
    let made = compile(files.into_iter().collect(), package);
    let write = |file: &GeneratedFile| {
        file.write(dir).unwrap();
        dir.join(&file.path)
    };
    made.iter()
        .map(write)
        .filter(|path| path.extension().is_some_and(|found| found == "java"))
        .collect()
}

/// The library's sources, in all folders.
fn add_sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            add_sources(&path, found);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "java")
        {
            found.push(path);
        }
    }
}

/// The last lines that javac prints, if it refuses the files.
fn refusal(dir: &Path, files: &[PathBuf]) -> Option<String> {
    let list: String = files
        .iter()
        .map(|file| format!("\"{}\"\n", file.display()))
        .collect();
    std::fs::write(dir.join("files"), list).unwrap();
    let output = Command::new("javac")
        .current_dir(dir)
        .args(["--release", "17", "-proc:none", "-Xlint:all", "-Werror"])
        .args(["-encoding", "UTF-8", "-d", "classes", "@files"])
        .output()
        .unwrap_or_else(|error| panic!("cannot run javac: {error}; install a JDK, 17 or newer"));
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    (!output.status.success()).then_some(messages)
}

fn fresh_dir(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

#[test]
fn every_dialect_compiles_as_java_17() {
    let dir = fresh_dir("dialects-java");
    let dialects = tests_dir().join("dialects");
    let mut paths = files_of(&dialects, "x");
    paths.extend(files_of(&dialects.join("include"), "x"));
    paths.push(tests_dir().join("layout/layout.x"));
    assert!(paths.len() > 35);
    let mut sources = Vec::new();
    for (number, path) in paths.iter().enumerate() {
        sources.extend(write_package(path, &format!("dialects.of{number}"), &dir));
    }
    assert!(sources.len() > 200);
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../java/src/main/java");
    add_sources(&library.canonicalize().unwrap(), &mut sources);
    if let Some(messages) = refusal(&dir, &sources) {
        panic!("javac:\n{messages}");
    }
}

#[test]
fn classes_are_as_kept() {
    let mut expected = Expected::new();
    for name in [
        "list",
        "ledger",
        "all_types",
        "keywords",
        "constants_only",
        "texts",
    ] {
        let path = tests_dir().join(format!("dialects/{name}.x"));
        let kept = tests_dir().join("golden/java");
        for file in compile(vec![path], name) {
            // Files of several packages have types of one name.
            let dir = match file.path.starts_with("META-INF") {
                true => kept.join("indexes").join(name),
                false => kept.clone(),
            };
            expected.compare(&dir.join(&file.path), &file.text);
        }
    }
    expected.finish();
}
