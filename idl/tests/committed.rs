//! The codecs in the tree are what the compiler makes of spec/protocol, and the limits that the
//! compiler checks are those of the specification.

mod golden;

use golden::files_of;
use interweave_idl::{run, CodecLanguage, CompileOptions, GeneratedFile, Output};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn generate(language: CodecLanguage) -> Vec<GeneratedFile> {
    // Relative, as the build gives them: the first line of the generated files has the path.
    std::env::set_current_dir(root()).unwrap();
    let options = CompileOptions {
        files: files_of(Path::new("spec/protocol"), "x"),
        output: Output::Codec(language),
        include_dirs: Vec::new(),
        defines: Vec::new(),
        types: Vec::new(),
    };
    run(options).unwrap_or_else(|diagnostics| panic!("{diagnostics}"))
}

fn differing(language: CodecLanguage, dir: &str) -> Vec<PathBuf> {
    let same = |file: &GeneratedFile| {
        let kept = std::fs::read_to_string(root().join(dir).join(&file.path));
        kept.is_ok_and(|kept| kept == file.text)
    };
    let files = generate(language).into_iter();
    files
        .filter(|file| !same(file))
        .map(|file| file.path)
        .collect()
}

const HOW: &str = "generate the codecs anew: make generate";

#[test]
fn the_committed_codecs_are_up_to_date() {
    let mut stale = differing(CodecLanguage::Rust, "server/wire/src/protocol");
    stale.extend(differing(CodecLanguage::Cpp, "native/protocol"));
    stale.extend(differing(
        CodecLanguage::TypeScript,
        "web/src/wire/protocol",
    ));
    assert!(stale.is_empty(), "{stale:?} differ; {HOW}");
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
