//! Files as people write them, in every dialect: each must compile to C, C++ and Fortran that its
//! compiler takes without a warning. Some outputs are kept word for word in tests/golden.

mod golden;

use golden::{files_of, tests_dir, Expected};
use interweave_idl::{run, CompileOptions, DataLanguage, GeneratedFile, Output};
use std::path::{Path, PathBuf};
use std::process::Command;

fn compile(path: &Path, language: DataLanguage, defines: &[&str]) -> Vec<GeneratedFile> {
    let options = CompileOptions {
        files: vec![path.to_path_buf()],
        output: Output::Data(language),
        include_dirs: Vec::new(),
        defines: defines.iter().map(|define| define.to_string()).collect(),
    };
    run(options).unwrap_or_else(|diagnostics| panic!("{diagnostics}"))
}

fn fresh_dir(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

fn run_compiler(compiler: &str, dir: &Path, arguments: &[&str], files: &[String]) {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../native/include");
    let output = Command::new(compiler)
        .current_dir(dir)
        .args(arguments)
        .args([
            "-Wall",
            "-Wextra",
            "-Wpedantic",
            "-Werror",
            "-fsyntax-only",
            "-I",
        ])
        .arg(include)
        .args(files)
        .output()
        .unwrap_or_else(|error| panic!("cannot run {compiler}: {error}"));
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{compiler}:\n{messages}");
}

/// Writes what every file makes in a language; the names of those with an extension.
fn write_all(dir: &Path, language: DataLanguage, extension: &str) -> Vec<String> {
    let dialects = tests_dir().join("dialects");
    let mut names = Vec::new();
    for part in ["", "include"] {
        for path in files_of(&dialects.join(part), "x") {
            for file in compile(&path, language, &[]) {
                file.write(&dir.join(part)).unwrap();
                let name = Path::new(part).join(&file.path);
                if name.extension().is_some_and(|found| found == extension) {
                    names.push(name.to_string_lossy().into_owned());
                }
            }
        }
    }
    assert!(names.len() > 35);
    names
}

#[test]
fn every_dialect_compiles_as_c99() {
    let dir = fresh_dir("dialects-c");
    let names = write_all(&dir, DataLanguage::C, "c");
    run_compiler("gcc", &dir, &["-std=c99"], &names);
}

#[test]
fn every_dialect_compiles_as_cpp20() {
    let dir = fresh_dir("dialects-cpp");
    let names = write_all(&dir, DataLanguage::Cpp, "cpp");
    // A header for C++ alone has no source of its own, so each gets one that includes it.
    let mut files = names.clone();
    for name in names {
        let header = Path::new(&name).with_extension("hpp");
        let user = format!("use_{}", name.replace('/', "_"));
        let text = format!("#include \"{}\"\n", header.display());
        std::fs::write(dir.join(&user), text).unwrap();
        files.push(user);
    }
    run_compiler("g++", &dir, &["-std=c++20"], &files);
}

/// Modules find those that they use where the compiler left them, so what is used comes first.
fn compile_modules(dir: &Path, files: &[PathBuf]) {
    let output = Command::new("gfortran")
        .current_dir(dir)
        .args(["-std=f2003", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"])
        .args(files)
        .output()
        .unwrap_or_else(|error| panic!("cannot run gfortran: {error}"));
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "gfortran:\n{messages}");
}

#[test]
fn every_dialect_compiles_as_fortran_2003() {
    let dir = fresh_dir("dialects-fortran");
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fortran/src");
    let parts = ["constants", "text", "arrays", "c_interface", "interweave"];
    let parts = parts.map(|part| library.join(format!("{part}.f90")));
    compile_modules(&dir, &parts);
    let names = write_all(&dir, DataLanguage::Fortran, "f90");
    let (included, others): (Vec<String>, Vec<String>) = names.into_iter().partition(|name| {
        ["include/", "ledger.f90", "rfc_example.f90"]
            .iter()
            .any(|first| name.starts_with(first))
    });
    for name in included.into_iter().chain(others) {
        compile_modules(&dir, &[PathBuf::from(name)]);
    }
}

#[test]
fn outputs_are_as_kept() {
    let dialects = tests_dir().join("dialects");
    let mut expected = Expected::new();
    for name in [
        "list",
        "ledger",
        "all_types",
        "calendar",
        "keywords",
        "order",
        "constants_only",
    ] {
        for language in [
            DataLanguage::C,
            DataLanguage::Cpp,
            DataLanguage::Fortran,
            DataLanguage::TypeScript,
        ] {
            for file in compile(&dialects.join(format!("{name}.x")), language, &[]) {
                expected.compare(&tests_dir().join("golden").join(&file.path), &file.text);
            }
        }
    }
    expected.finish();
}

/// Identifiers behind `IW_` in the library's headers.
fn library_names() -> Vec<String> {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../native/include");
    let mut headers = files_of(&include.join("interweave"), "h");
    headers.extend(files_of(&include, "h"));
    let mut names = Vec::new();
    for header in headers {
        let text = std::fs::read_to_string(header).unwrap();
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let behind = words.filter_map(|word| word.strip_prefix("IW_"));
        names.extend(behind.filter(|name| name.len() > 1).map(str::to_string));
    }
    names.sort();
    names.dedup();
    names
}

#[test]
fn descriptors_keep_clear_of_the_library_names() {
    // Words of C and XDR can name no type; node_t is an example's, and four are of the environment.
    let excused = ["bool", "char", "double", "float", "hyper", "int", "short"];
    let others = ["node_t", "LOG", "OPTIMISATIONS", "TOKEN", "TRACKER"];
    let mut names = library_names();
    names.retain(|name| !excused.contains(&name.as_str()) && !others.contains(&name.as_str()));
    assert!(names.len() > 80);
    let dir = fresh_dir("library-names");
    let path = dir.join("names.x");
    let text: String = names
        .iter()
        .map(|name| format!("struct {name} {{ int x; }};\n"))
        .collect();
    std::fs::write(&path, text).unwrap();
    let header = compile(&path, DataLanguage::C, &[]).remove(0).text;
    for name in names {
        assert!(
            header.contains(&format!("IW_{name}_;")),
            "IW_{name} is the library's"
        );
    }
}

#[test]
fn descriptors_keep_clear_of_the_fortran_module_names() {
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fortran/src/interweave.f90");
    let module = std::fs::read_to_string(module).unwrap();
    let lines = module
        .lines()
        .filter_map(|line| line.trim().strip_prefix("public :: IW_"));
    let names: Vec<String> = lines
        .flat_map(|line| line.split(", IW_"))
        .map(|name| name.to_lowercase())
        .collect();
    assert!(names.len() > 90);
    let dir = fresh_dir("fortran-library-names");
    let path = dir.join("names.x");
    // Words of XDR can name no type; a capital makes another name of them, though not in Fortran.
    let types = names
        .iter()
        .map(|name| format!("{}{}", name[..1].to_uppercase(), &name[1..]));
    let text: String = types
        .map(|name| format!("struct {name} {{ int x; }};\n"))
        .collect();
    std::fs::write(&path, text).unwrap();
    let files = compile(&path, DataLanguage::Fortran, &[]);
    let text = files.last().unwrap().text.to_lowercase();
    for name in names {
        assert!(
            text.contains(&format!(":: iw_{name}_\n")),
            "IW_{name} is the library's"
        );
    }
}

#[test]
fn conditions_follow_the_defines_given() {
    let path = tests_dir().join("dialects/statistics.x");
    let header = |defines: &[&str]| compile(&path, DataLanguage::C, defines).remove(0).text;
    assert!(header(&[]).contains("int dk_xfer[4];"));
    let three = header(&["CPUSTATES=3"]);
    assert!(three.contains("int cp_time[3];") && three.contains("enum { DISKS = 3 };"));
    assert!(header(&["CPUSTATES=1", "FORCE"]).contains("int cp_time[1];"));
}

#[test]
fn included_files_are_found_in_the_directories_given() {
    let dir = fresh_dir("include-dirs");
    std::fs::write(
        dir.join("user.x"),
        "#include <shared.x>\nstruct u_t { shared_t s; };\n",
    )
    .unwrap();
    let options = CompileOptions {
        files: vec![dir.join("user.x")],
        output: Output::Data(DataLanguage::C),
        include_dirs: vec![tests_dir().join("dialects/include")],
        defines: Vec::new(),
    };
    let files = run(options).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    let text = &files[0].text;
    assert!(
        text.contains("#include \"shared.h\"") && !text.contains("struct shared_t {"),
        "{text}"
    );
}

#[test]
fn an_unchanged_file_is_not_written_again() {
    let dir = fresh_dir("unchanged");
    let file = compile(&tests_dir().join("dialects/list.x"), DataLanguage::C, &[]).remove(0);
    file.write(&dir).unwrap();
    let path = dir.join(&file.path);
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    let before = std::fs::metadata(&path).unwrap().modified().unwrap();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    file.write(&dir).unwrap();
    assert_eq!(
        std::fs::metadata(&path).unwrap().modified().unwrap(),
        before
    );
}
