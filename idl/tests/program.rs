//! The build's own program, as it is called from a shell.

mod golden;

use golden::tests_dir;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn call(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_interweave-idl"))
        .current_dir(tests_dir())
        .args(arguments)
        .output()
        .unwrap()
}

fn out_dir(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    dir
}

#[test]
fn makes_files_in_a_new_directory_and_says_nothing() {
    let dir = out_dir("program");
    let out = dir.join("deep/inside");
    let arguments = [
        "data",
        "--lang",
        "cpp",
        "--out",
        out.to_str().unwrap(),
        "dialects/list.x",
    ];
    let output = call(&arguments);
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty());
    for name in ["list.h", "list.hpp", "list.cpp"] {
        assert!(out.join(name).is_file(), "{name}");
    }
}

#[test]
fn takes_include_directories_and_defines() {
    let dir = out_dir("program-options");
    std::fs::create_dir_all(&dir).unwrap();
    let source = dir.join("user.x");
    let text = "#include \"shared.x\"\n#if N == 3\nstruct u { shared_t s[N]; };\n#endif\n";
    std::fs::write(&source, text).unwrap();
    let (source, out) = (source.to_str().unwrap(), dir.to_str().unwrap());
    let options = ["-I", "dialects/include", "-D", "N=3", "--out", out, source];
    let output = call(&[&["data", "--lang", "c"], &options[..]].concat());
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let header = std::fs::read_to_string(dir.join("user.h")).unwrap();
    assert!(header.contains("shared_t s[3];"));
}

#[test]
fn a_wrong_file_gives_its_place_and_status_1_and_no_output() {
    let out = out_dir("program-wrong");
    let out = out.to_str().unwrap();
    let output = call(&["data", "--lang", "c", "--out", out, "errors/unknown_type.x"]);
    assert_eq!(output.status.code(), Some(1));
    let messages = String::from_utf8_lossy(&output.stderr);
    let first = "errors/unknown_type.x:3:2: error: unknown type `nod_t`\n";
    assert!(messages.starts_with(first), "{messages}");
    assert!(!Path::new(out).exists());
}

#[test]
fn an_output_directory_that_cannot_be_is_named() {
    let output = call(&[
        "data",
        "--lang",
        "c",
        "--out",
        "errors/sizes.x",
        "dialects/list.x",
    ]);
    assert_eq!(output.status.code(), Some(1));
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(
        messages.contains("cannot write errors/sizes.x/list.h"),
        "{messages}"
    );
}

#[test]
fn wrong_calls_are_answered_with_the_usage_and_status_2() {
    let calls: [&[&str]; 6] = [
        &[],
        &["data", "dialects/list.x"],
        &["data", "--lang", "cobol", "dialects/list.x"],
        &["codec", "--lang", "c", "dialects/list.x"],
        &["data", "--wrong", "dialects/list.x"],
        &["data", "--lang"],
    ];
    for arguments in calls {
        let output = call(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(messages.contains("usage: interweave-idl"), "{messages}");
    }
}
