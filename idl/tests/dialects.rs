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
        package: String::new(),
        defines: defines.iter().map(|define| define.to_string()).collect(),
        types: Vec::new(),
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
    let parts = [
        "interface",
        "constants",
        "text",
        "arrays",
        "c_interface",
        "calls",
        "interweave",
    ];
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
fn every_dialect_is_python() {
    let dir = fresh_dir("dialects-python");
    let mut names = write_all(&dir, DataLanguage::Python, "py");
    names.extend(write_all(&dir, DataLanguage::Python, "pyi"));
    let script = "import ast, sys\nfor name in sys.argv[1:]: ast.parse(open(name).read(), name)";
    let mut python = Command::new("python3");
    let output = python
        .current_dir(&dir)
        .args(["-c", script])
        .args(names)
        .output();
    let output = output.expect("python3 runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
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
        "texts",
        "rpc_types",
    ] {
        for language in [
            DataLanguage::C,
            DataLanguage::Cpp,
            DataLanguage::Fortran,
            DataLanguage::Python,
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
    headers.extend(files_of(&include.join("interweave"), "hpp"));
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
    // Words of C and XDR can name no type; node_t is an example's, and the others are of the
    // environment.
    let excused = ["bool", "char", "double", "float", "hyper", "int", "short"];
    let others = [
        "node_t",
        "CA",
        "CERT",
        "KEY",
        "LOG",
        "OPTIMISATIONS",
        "RESERVATION_MIB",
        "TOKEN",
        "TRACKER",
    ];
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
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fortran/src");
    let text = |name: &str| std::fs::read_to_string(library.join(name)).unwrap();
    let listed = text("calls.f90") + &text("interface.f90");
    let listed = listed
        .lines()
        .filter_map(|line| line.trim().strip_prefix("public :: IW_"))
        .flat_map(|line| line.split(", IW_"));
    // In this module everything is public that is not said to be private.
    let constants = text("constants.f90");
    let defined = constants.lines().filter_map(|line| {
        let (_, name) = line.split_once(" :: IW_")?;
        name.split([' ', '=']).next()
    });
    let whole = text("interweave.f90");
    let is_public = |name: &&str| !whole.contains(&format!("private :: IW_{name},"));
    let names: Vec<String> = listed
        .chain(defined)
        .filter(is_public)
        .map(str::to_lowercase)
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
        package: String::new(),
        defines: Vec::new(),
        types: Vec::new(),
    };
    let files = run(options).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    let text = &files[0].text;
    assert!(
        text.contains("#include \"shared.h\"") && !text.contains("struct shared_t {"),
        "{text}"
    );
}

#[test]
fn types_of_c_headers_are_what_they_are_said_to_be() {
    let dir = fresh_dir("header-types");
    let text = "struct entry { time_t when; uuid_t id; time_t last[2]; time_t *first; blob data; \
                u_long n; word w; };\nstruct word { int letters[4]; };\n";
    std::fs::write(dir.join("entry.x"), text).unwrap();
    let types = [
        "time_t=hyper",
        "uuid_t=opaque[16]",
        "blob=opaque<>",
        "u_long=unsigned hyper",
        // The file's own is meant.
        "word=int",
    ];
    let options = |types: &[&str]| CompileOptions {
        files: vec![dir.join("entry.x")],
        output: Output::Data(DataLanguage::C),
        include_dirs: Vec::new(),
        package: String::new(),
        defines: Vec::new(),
        types: types.iter().map(|given| given.to_string()).collect(),
    };
    let files = run(options(&types)).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    for line in [
        "int64_t when;",
        "unsigned char id[16];",
        "int64_t last[2];",
        "int64_t *first;",
        "uint64_t n;",
        "word w;",
    ] {
        assert!(files[0].text.contains(line), "{line}:\n{}", files[0].text);
    }
    assert!(!files[0].text.contains("typedef int64_t time_t"));
    for file in &files {
        file.write(&dir).unwrap();
    }
    run_compiler("gcc", &dir, &["-std=c99"], &["entry.c".to_string()]);
    let unknown = run(options(&types[1..])).expect_err("time_t is not known");
    assert!(
        unknown.to_string().contains("--type time_t=TYPE"),
        "{unknown}"
    );
    for (given, told) in [
        ("time_t", "names no type"),
        ("time_t=struct { int x; }", "a type with a name"),
        ("time_t=hyper;", "expected the declared name"),
        ("time_t=opaque[16]x", "the end of the type"),
        ("time_t=clock_t", "unknown type `clock_t`"),
        ("time_t=time_t", "unknown type `time_t`"),
    ] {
        let wrong = run(options(&[&[given], &types[1..]].concat())).expect_err(given);
        assert!(wrong.to_string().contains(told), "{given}: {wrong}");
    }
}

/// Files in two folders that include each other by their paths, and one beside them.
const IN_FOLDERS: [(&str, &str); 4] = [
    (
        "net/main.x",
        "#include \"net/parts.x\"\n#include \"store/file.x\"\n\
         struct whole { part p; file_t f; both *b; };\n",
    ),
    (
        "net/parts.x",
        "%#include \"../top.x\"\nstruct part { int n; top t; };\n",
    ),
    (
        "store/file.x",
        "#include \"net/parts.x\"\nstruct file_t { part p; };\n\
         struct both { file_t f; };\n",
    ),
    ("top.x", "struct top { int n; };\n"),
];

/// Compiles them in one run from their common folder; returns where the outputs are.
fn compile_folders(name: &str, language: DataLanguage) -> PathBuf {
    let dir = fresh_dir(name);
    for (path, text) in IN_FOLDERS {
        let path = dir.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let options = CompileOptions {
        files: IN_FOLDERS.iter().map(|(path, _)| dir.join(path)).collect(),
        output: Output::Data(language),
        include_dirs: vec![dir.clone()],
        package: String::new(),
        defines: Vec::new(),
        types: Vec::new(),
    };
    let out = dir.join("gen");
    for file in run(options).unwrap_or_else(|diagnostics| panic!("{diagnostics}")) {
        file.write(&out).unwrap();
    }
    out
}

#[test]
fn files_that_include_each_other_keep_their_folders() {
    let names = |extension: &str| {
        let with = |(path, _): &(&str, &str)| format!("{}{extension}", path.trim_end_matches("x"));
        IN_FOLDERS.iter().map(with).collect::<Vec<_>>()
    };
    let out = compile_folders("folders-c", DataLanguage::C);
    run_compiler("gcc", &out, &["-std=c99"], &names("c"));
    let out = compile_folders("folders-cpp", DataLanguage::Cpp);
    run_compiler("g++", &out, &["-std=c++20"], &names("cpp"));
    std::fs::write(out.join("user.cpp"), "#include \"store/file.hpp\"\n").unwrap();
    run_compiler("g++", &out, &["-std=c++20"], &["user.cpp".to_string()]);
    let out = compile_folders("folders-typescript", DataLanguage::TypeScript);
    let module = std::fs::read_to_string(out.join("net/main.ts")).unwrap();
    for import in ["from \"./parts.js\"", "from \"../store/file.js\""] {
        assert!(module.contains(import), "{import}:\n{module}");
    }
    let out = compile_folders("folders-python", DataLanguage::Python);
    let module = std::fs::read_to_string(out.join("net/main.py")).unwrap();
    for import in ["from net.parts import part", "from store.file import both"] {
        assert!(module.contains(import), "{import}:\n{module}");
    }
    let out = compile_folders("folders-fortran", DataLanguage::Fortran);
    for name in names("f90") {
        assert!(out.join(name).is_file());
    }
}

/// As before there were folders: who compiles each file by itself says where with --out.
#[test]
fn a_file_compiled_by_itself_is_in_no_folder() {
    let dir = compile_folders("folders-alone", DataLanguage::C).join("..");
    let options = CompileOptions {
        files: vec![dir.join("net/main.x")],
        output: Output::Data(DataLanguage::C),
        include_dirs: vec![dir.clone()],
        package: String::new(),
        defines: Vec::new(),
        types: Vec::new(),
    };
    let files = run(options).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    assert_eq!(files[0].path, Path::new("main.h"));
    assert!(files[0].text.contains("#include \"net/parts.h\""));
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
