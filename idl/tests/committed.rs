//! The codecs and the interface's numbers in the tree are what the compiler makes of spec/protocol,
//! spec/cluster and spec/interface, in all languages alike. The limits that the compiler checks are
//! those of the specification.

mod golden;

use golden::files_of;
use interweave_idl::{
    run, CodecLanguage, CompileOptions, DataLanguage, GeneratedFile, InterfaceLanguage, Output,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn generate_from(dir: &str, output: Output) -> Vec<GeneratedFile> {
    // Relative, as the build gives them: the first line of the generated files has the path.
    std::env::set_current_dir(root()).unwrap();
    let options = CompileOptions {
        files: files_of(Path::new(dir), "x"),
        output,
        include_dirs: Vec::new(),
        package: String::new(),
        defines: Vec::new(),
        types: Vec::new(),
    };
    run(options).unwrap_or_else(|diagnostics| panic!("{diagnostics}"))
}

fn generate(language: CodecLanguage) -> Vec<GeneratedFile> {
    generate_from("spec/protocol", Output::Codec(language))
}

fn generate_interface(language: InterfaceLanguage) -> Vec<GeneratedFile> {
    generate_from("spec/interface", Output::Interface(language))
}

fn differing(files: Vec<GeneratedFile>, dir: &str) -> Vec<PathBuf> {
    let same = |file: &GeneratedFile| {
        let kept = std::fs::read_to_string(root().join(dir).join(&file.path));
        kept.is_ok_and(|kept| kept == file.text)
    };
    let files = files.into_iter();
    let stale = files.filter(|file| !same(file));
    stale.map(|file| Path::new(dir).join(file.path)).collect()
}

const HOW: &str = "generate them anew: make generate";
const HEADERS: &str = "native/include/interweave";

#[test]
fn the_committed_codecs_are_up_to_date() {
    let stale: Vec<PathBuf> = [
        (CodecLanguage::Rust, "server/wire/src/protocol"),
        (CodecLanguage::Cpp, "native/protocol"),
        (CodecLanguage::TypeScript, "web/src/wire/protocol"),
        (
            CodecLanguage::Java,
            "java/src/main/java/org/interweave/wire/protocol",
        ),
    ]
    .into_iter()
    .flat_map(|(language, dir)| differing(generate(language), dir))
    .collect();
    assert!(stale.is_empty(), "{stale:?} differ; {HOW}");
}

#[test]
fn the_committed_codecs_of_the_cluster_are_up_to_date() {
    let files = generate_from("spec/cluster", Output::Codec(CodecLanguage::Cluster));
    let stale = differing(files, "cluster");
    assert!(stale.is_empty(), "{stale:?} differ; {HOW}");
}

#[test]
fn the_committed_numbers_of_the_interface_are_up_to_date() {
    let stale: Vec<PathBuf> = [
        (InterfaceLanguage::C, HEADERS),
        (InterfaceLanguage::Cpp, HEADERS),
        (InterfaceLanguage::Fortran, "fortran/src"),
        (InterfaceLanguage::Python, "python/interweave"),
        (InterfaceLanguage::TypeScript, "web/src/wire"),
        (InterfaceLanguage::Java, "java/src/main/java/org/interweave"),
        (InterfaceLanguage::Rust, "idl/src/backends"),
    ]
    .into_iter()
    .flat_map(|(language, dir)| differing(generate_interface(language), dir))
    .collect();
    assert!(stale.is_empty(), "{stale:?} differ; {HOW}");
}

#[test]
fn the_committed_classes_of_the_java_tests_are_up_to_date() {
    // Relative, because the first line of each class has the path.
    std::env::set_current_dir(root()).unwrap();
    let package = "org.interweave.objects.shapes";
    let options = CompileOptions {
        files: vec![PathBuf::from("java/src/test/shapes.x")],
        output: Output::Data(DataLanguage::Java),
        include_dirs: Vec::new(),
        package: package.to_string(),
        defines: Vec::new(),
        types: Vec::new(),
    };
    let files = run(options).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    let folder = Path::new("java/src/test/java").join(package.replace('.', "/"));
    let is_class = |file: &&GeneratedFile| file.path.extension().is_some();
    let classes = files.iter().filter(is_class).count();
    assert_eq!(classes, files_of(&folder, "java").len());
    let stale = differing(files, "java/src/test/java");
    assert!(stale.is_empty(), "{stale:?} differ; {HOW}");
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// `NAME <separator> number` on the lines of a text, without what stands before the name.
fn numbers(text: &str, before: &str, separator: &str) -> BTreeMap<String, i64> {
    let line = |line: &str| {
        let (name, value) = line.split_once(before)?.1.split_once(separator)?;
        let digits = |c: char| !c.is_ascii_digit() && c != '-';
        let value = value.split(digits).next()?.parse().ok()?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = name.trim();
        (!name.is_empty() && name.chars().all(is_name)).then(|| (name.to_string(), value))
    };
    text.lines().filter_map(line).collect()
}

/// From the first line that begins with `start` to the next that begins with `end`.
fn part<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let from = text.find(start).unwrap_or_else(|| panic!("no {start}"));
    let rest = &text[from..];
    &rest[..rest.find(end).unwrap_or_else(|| panic!("no {end}"))]
}

/// The positive numbers of errors by their names in error.x, which is read without the compiler.
fn specified_errors() -> BTreeMap<String, i64> {
    let specification = text("spec/protocol/error.x");
    numbers(part(&specification, "enum error_code", "\n};"), "  ", " = ")
}

#[test]
fn all_languages_have_the_errors_of_the_specification() {
    let specified = specified_errors();
    assert!(specified.len() >= 35);
    let rust = text("server/wire/src/protocol/error.rs");
    let names: BTreeMap<String, String> = part(&rust, "pub fn name(self)", "\n    }\n")
        .lines()
        .filter_map(|line| line.trim().split_once(" => \""))
        .map(|(variant, name)| (variant.replace("Self::", ""), name.replace("\",", "")))
        .collect();
    let rust = numbers(part(&rust, "pub enum ErrorCode", "\n}"), "    ", " = ");
    let rust = rust
        .into_iter()
        .map(|(variant, number)| (names[&variant].clone(), number));
    assert_eq!(rust.collect::<BTreeMap<_, _>>(), specified, "Rust");
    let cpp = text("native/protocol/error.gen.h");
    let cpp = numbers(part(&cpp, "enum class error_code", "\n};"), "  ", " = ");
    assert_eq!(cpp, specified, "C++");
    let typescript = text("web/src/wire/protocol/error.ts");
    let typescript = part(&typescript, "export const ErrorCode", "\n} as");
    assert_eq!(numbers(typescript, "  ", ": "), specified, "TypeScript");
    let java = text("java/src/main/java/org/interweave/wire/protocol/ErrorCodec.java");
    let java = part(&java, "public enum ErrorCode", "public final int");
    assert_eq!(numbers(java, "    ", "("), specified, "Java");

    let mut negative: BTreeMap<String, i64> = specified
        .into_iter()
        .map(|(name, number)| (name, -number))
        .collect();
    negative.remove("OK");
    let header = text("native/include/interweave/interface.h");
    assert_eq!(numbers(&header, "  IW_E", " = "), negative, "C");
    let module = text("fortran/src/interface.f90");
    assert_eq!(numbers(&module, ":: IW_E", " = "), negative, "Fortran");
    let python = text("python/interweave/errors.py");
    let classes = python.split("\n\n\nclass ").skip(1);
    let python = classes.map(|class| {
        let name = class.split("code_name = \"").nth(1).unwrap();
        let name = name.split('"').next().unwrap().to_string();
        (name, numbers(class, "    ", " = ")["code"])
    });
    assert_eq!(python.collect::<BTreeMap<_, _>>(), negative, "Python");
    let java = text("java/src/main/java/org/interweave/Interface.java");
    let java = part(&java, "public enum Error", "public final int");
    assert_eq!(
        numbers(java, "    ", "("),
        negative,
        "the interface in Java"
    );

    // What finds a name by its number.
    let mut ordered: Vec<(i64, String)> = negative.into_iter().map(|(n, v)| (-v, n)).collect();
    ordered.sort();
    let ordered: Vec<String> = ordered.into_iter().map(|(_, name)| name).collect();
    let quoted = |text: &str, quote: char| -> Vec<String> {
        text.split(quote)
            .skip(1)
            .step_by(2)
            .map(str::to_string)
            .collect()
    };
    let names = part(&module, ":: error_names(", "/)\n");
    assert_eq!(quoted(names, '\''), ordered, "Fortran's names");
    let table = text("native/include/interweave/interface.hpp");
    let table = part(&table, "NamedError named_errors[]", "\n};");
    assert_eq!(quoted(table, '"'), ordered, "the names of C++");
    for line in table.lines().skip(1) {
        let name = &quoted(line, '"')[0];
        assert!(line.contains(&format!("{{IW_E{name}, ")), "{line}");
    }
}

#[test]
fn all_languages_have_the_options_and_states_of_the_specification() {
    let specification = text("spec/interface/interface.x");
    let specified: BTreeMap<String, i64> = numbers(&specification, "  ", " = ");
    assert!(specified.len() >= 15);
    let header = text("native/include/interweave/interface.h");
    let mut c = numbers(&header, "  IW_", " = ");
    c.retain(|name, &mut value| value > 0 && name != "OK");
    assert_eq!(c, specified, "C");
    let module = text("fortran/src/interface.f90");
    let mut fortran = numbers(&module, "parameter :: IW_", " = ");
    fortran.retain(|_, &mut value| value > 0);
    assert_eq!(fortran, specified, "Fortran");
    let python = text("python/interweave/interface.py");
    assert_eq!(numbers(&python, "    ", " = "), specified, "Python");
    let typescript = text("web/src/wire/interface.ts");
    assert_eq!(numbers(&typescript, "  ", ": "), specified, "TypeScript");
}

#[test]
fn options_have_the_numbers_of_the_protocol() {
    let interface = text("spec/interface/interface.x");
    for (file, protocol, option) in [
        ("segment.x", "enum durability", "enum durability"),
        ("lock.x", "enum coherence_model", "enum coherence "),
    ] {
        let specified = text(&format!("spec/protocol/{file}"));
        let specified = numbers(part(&specified, protocol, "\n};"), "  ", " = ");
        assert!(specified.len() >= 3);
        let own = numbers(part(&interface, option, "\n};"), "  ", " = ");
        let values = |map: &BTreeMap<String, i64>| -> BTreeMap<i64, String> {
            let name = |name: &str| name.trim_end_matches("_COHERENCE").to_string();
            map.iter().map(|(key, value)| (*value, name(key))).collect()
        };
        assert_eq!(values(&own), values(&specified), "{option}");
    }
}

#[test]
fn all_languages_have_the_statistics_of_the_specification_in_its_order() {
    let last_word = |line: &str| {
        line.split(" /*")
            .next()?
            .trim()
            .rsplit(' ')
            .next()
            .map(str::to_string)
    };
    let fields = |text: &str, kind: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.trim().starts_with(kind));
        let names = lines.filter_map(last_word);
        names
            .map(|name| name.trim_end_matches(';').to_string())
            .collect()
    };
    let specification = text("spec/interface/interface.x");
    let specified = fields(
        part(&specification, "struct stats_t", "\n};"),
        "unsigned hyper",
    );
    assert!(specified.len() >= 23);
    let header = text("native/include/interweave/interface.h");
    let header = part(&header, "typedef struct IW_stats_t", "\n}");
    assert_eq!(fields(header, "uint64_t"), specified, "C");
    let module = text("fortran/src/interface.f90");
    let module = part(&module, "type, bind(C) :: IW_stats_t", "end type");
    assert_eq!(fields(module, "integer(c_int64_t)"), specified, "Fortran");
    let python = text("python/interweave/interface.py");
    let python = python.split("class Stats:").nth(1).unwrap();
    let python: Vec<String> = python
        .lines()
        .filter_map(|line| line.trim().strip_suffix(": int").map(str::to_string))
        .collect();
    assert_eq!(python, specified, "Python");
    let typescript = text("web/src/wire/interface.ts");
    let typescript = part(&typescript, "export interface Stats", "\n}");
    let typescript: Vec<String> = typescript
        .lines()
        .filter_map(|line| line.trim().strip_suffix(": bigint;").map(str::to_string))
        .collect();
    assert_eq!(typescript, specified, "TypeScript");
    let table = text("native/include/interweave/interface.hpp");
    let table = part(&table, "NamedStatistic named_statistics[]", "\n};");
    let table: Vec<&str> = table.lines().skip(1).map(str::trim).collect();
    let expected = specified
        .iter()
        .map(|name| format!("{{\"{name}\", &IW_stats_t::{name}}},"));
    assert_eq!(table, expected.collect::<Vec<_>>(), "C++");
}

#[test]
fn what_the_interface_cannot_have_is_refused_with_its_place() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("interface");
    std::fs::create_dir_all(&dir).unwrap();
    let errors = "enum error_code { OK = 0, FIRST = 1 };\n";
    let messages = |file: &str, rest: &str| {
        let path = dir.join(file);
        std::fs::write(&path, format!("{errors}{rest}")).unwrap();
        let options = CompileOptions {
            files: vec![path],
            output: Output::Interface(InterfaceLanguage::C),
            include_dirs: Vec::new(),
            package: String::new(),
            defines: Vec::new(),
            types: Vec::new(),
        };
        run(options)
            .err()
            .map_or(String::new(), |found| found.to_string())
    };
    assert_eq!(messages("good.x", "struct s { double d; };"), "");
    let wrong = messages("field.x", "struct s { float f; };");
    assert!(
        wrong.contains("field.x:2:18: error: the interface has no type for `f`"),
        "{wrong}"
    );
    let wrong = messages("constant.x", "const N = 1;");
    assert!(
        wrong.contains("constant.x:2:7: error: `N` is not an enum, a struct"),
        "{wrong}"
    );
}

#[test]
fn the_limits_are_those_of_the_specification() {
    let files = generate(CodecLanguage::Rust);
    let descriptor = files
        .iter()
        .find(|file| file.path == Path::new("descriptor.rs"))
        .unwrap();
    let limits = interweave_idl::descriptor_limits();
    assert_eq!(limits.len(), 4);
    for (name, value) in limits {
        let line = format!("pub const {name}: u32 = {value};");
        assert!(
            descriptor.text.contains(&line),
            "descriptor.x does not say {name} = {value}"
        );
    }
}

/// `NAME = number` of every enum member in a text, by name.
fn members(text: &str, prefix: &str) -> Vec<(String, String)> {
    let line = |line: &str| {
        let line = line.split("/*").next()?.trim().trim_end_matches(',');
        let (name, value) = line.split_once(" = ")?;
        Some((
            name.strip_prefix(prefix)?.to_string(),
            value.trim().to_string(),
        ))
    };
    text.lines().filter_map(line).collect()
}

#[test]
fn the_numbers_of_the_type_table_are_those_of_the_specification() {
    let table = root().join("native/include/interweave/type_table.h");
    let table = std::fs::read_to_string(table).unwrap();
    let files = generate(CodecLanguage::Cpp);
    let header = files
        .iter()
        .find(|file| file.path == Path::new("descriptor.gen.h"))
        .unwrap();
    for (prefix, name, count) in [
        ("IW_KIND_", "type_kind", 9),
        ("IW_PRIMITIVE_", "primitive", 11),
    ] {
        let start = header.text.find(&format!("enum class {name} ")).unwrap();
        let end = start + header.text[start..].find("};").unwrap();
        let specified = members(&header.text[start..end], "");
        assert_eq!(specified.len(), count);
        assert_eq!(members(&table, prefix), specified);
    }
}
