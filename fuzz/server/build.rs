//! The types that the diff target's segment has: the bytes of the descriptor vectors.

use std::path::Path;
use std::{env, fs};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits
        .chunks(2)
        .map(|pair| (pair[0] << 4 | pair[1]) as u8)
        .collect()
}

/// The lines of `bytes`: each a string, hex before its ';'.
fn bytes_of(vector: &str) -> Vec<u8> {
    let lines = vector.split("\"bytes\": [").nth(1).expect("bytes as lines");
    let lines = lines
        .lines()
        .take_while(|line| line.trim() != "]")
        .filter_map(|line| line.trim().strip_prefix('"'));
    lines
        .flat_map(|line| hex(line.split(';').next().unwrap_or("")))
        .collect()
}

fn main() {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/good");
    let mut types = Vec::new();
    for name in ["node", "strings", "figure-3", "compound"] {
        let file = vectors.join(format!("descriptor-{name}.json"));
        println!("cargo:rerun-if-changed={}", file.display());
        types.extend(bytes_of(
            &fs::read_to_string(file).expect("a descriptor vector"),
        ));
    }
    let out = env::var_os("OUT_DIR").expect("cargo's OUT_DIR");
    fs::write(Path::new(&out).join("types"), types).expect("the types");
}
