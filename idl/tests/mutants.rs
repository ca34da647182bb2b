//! Files damaged at random: the compiler must answer each with errors or with code that C accepts,
//! and never crash. Every run damages the same places; IW_MUTANTS=n makes n times as many.

mod golden;

use golden::{files_of, tests_dir};
use interweave_idl::{run, CompileOptions, DataLanguage, Output};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A small generator of numbers (xorshift64*).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

const WORDS: [&str; 46] = [
    "struct",
    "union",
    "enum",
    "typedef",
    "const",
    "switch",
    "case",
    "default",
    "void",
    "int",
    "x",
    "opaque",
    "string",
    "unsigned",
    "double",
    "bool",
    "namespace",
    "program",
    "*",
    "<",
    ">",
    "<>",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    ";",
    ":",
    "::",
    ",",
    "=",
    "-",
    "0",
    "1",
    "4096",
    "4294967295",
    "\n#if 1\n",
    "\n#else\n",
    "\n#endif\n",
    "\n#define x ",
    "\n%",
    "/*",
    "*/",
    "\"",
];

/// Words, numbers, blanks and marks, so that changes hit the grammar and not only letters.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut last_is_word = false;
    for c in text.chars() {
        let word = c.is_ascii_alphanumeric() || c == '_';
        match pieces.last_mut() {
            Some(piece) if word && last_is_word => piece.push(c),
            _ => pieces.push(c.to_string()),
        }
        last_is_word = word;
    }
    pieces
}

fn mutant(text: &str, numbers: &mut Numbers) -> String {
    let mut pieces = pieces(text);
    for _ in 0..=numbers.below(3) {
        let at = numbers.below(pieces.len());
        let other = numbers.below(pieces.len());
        match numbers.below(6) {
            0 if pieces.len() > 1 => drop(pieces.remove(at)),
            1 => pieces.insert(at, format!(" {} ", numbers.pick(&WORDS))),
            2 => pieces[at] = format!(" {} ", numbers.pick(&WORDS)),
            3 => pieces.swap(at, other),
            4 => pieces[at] = pieces[other].clone(),
            _ => pieces.truncate(at.max(1)),
        }
    }
    pieces.concat()
}

/// The names of the C sources made for a mutant; none if it is refused.
fn compile(dir: &Path, path: &Path) -> Vec<String> {
    let made = |language: DataLanguage| {
        run(CompileOptions {
            files: vec![path.to_path_buf()],
            output: Output::Data(language),
            include_dirs: Vec::new(),
            package: String::new(),
            defines: Vec::new(),
            types: Vec::new(),
        })
    };
    match made(DataLanguage::C) {
        Ok(files) => {
            // Whatever C can say, these can, but for names that they do not keep apart.
            for (language, name) in [
                (DataLanguage::TypeScript, "TypeScript"),
                (DataLanguage::Python, "Python"),
            ] {
                if let Err(diagnostics) = made(language) {
                    let said = diagnostics.to_string();
                    assert!(said.contains(&format!("is used twice in {name}")), "{said}");
                }
            }
            // Java has its own names and sizes, and says so.
            if let Err(diagnostics) = made(DataLanguage::Java) {
                let text = diagnostics.to_string();
                assert!(
                    text.contains("in Java") || text.contains("of Java"),
                    "{text}"
                );
            }
            files.iter().for_each(|file| file.write(dir).unwrap());
            let names = files
                .iter()
                .map(|file| file.path.to_string_lossy().into_owned());
            names.filter(|name| name.ends_with(".c")).collect()
        }
        Err(diagnostics) => {
            assert!(!diagnostics.errors().is_empty());
            assert!(diagnostics.to_string().contains("error: "));
            Vec::new()
        }
    }
}

fn check_with_gcc(dir: &Path, sources: &[String]) {
    let output = Command::new("gcc")
        .current_dir(dir)
        .args(["-std=c99", "-Wall", "-Wextra", "-fsyntax-only", "-I"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../native/include"))
        .args(sources)
        .output()
        .expect("gcc runs");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{messages}");
}

#[test]
fn damaged_files_are_refused_or_make_good_c() {
    let dir: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutants");
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    let rounds = std::env::var("IW_MUTANTS")
        .ok()
        .map_or(1, |n| n.parse::<usize>().unwrap());
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut accepted: Vec<String> = Vec::new();
    let mut refused = 0;
    for path in files_of(&tests_dir().join("dialects"), "x") {
        let text = std::fs::read_to_string(&path).unwrap();
        if text.contains("#include \"") {
            continue;
        }
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        for n in 0..40 * rounds {
            let mutated = dir.join(format!("{stem}_{n}.x"));
            std::fs::write(&mutated, mutant(&text, &mut numbers)).unwrap();
            let sources = compile(&dir, &mutated);
            refused += usize::from(sources.is_empty());
            accepted.extend(sources);
        }
    }
    assert!(
        refused > 300 && accepted.len() > 100,
        "{refused} refused, {} not",
        accepted.len()
    );
    accepted
        .chunks(200)
        .for_each(|sources| check_with_gcc(&dir, sources));
}
