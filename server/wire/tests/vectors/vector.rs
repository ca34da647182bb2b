//! The files of spec/vectors.

use std::fs;
use std::path::PathBuf;

use interweave_wire::json::{self, Json};

/// One vector; its members stay JSON.
#[derive(Debug, Clone)]
pub struct Vector {
    pub name: String,
    pub kind: String,
    json: Json,
}

/// All vectors of `good` or `malformed`.
pub fn load(folder: &str) -> Vec<Vector> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors");
    let entries = fs::read_dir(root.join(folder)).expect("spec/vectors");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "json"));
    files.sort();
    files.iter().flat_map(read).collect()
}

fn read(file: &PathBuf) -> Vec<Vector> {
    let text = fs::read_to_string(file).expect("a vector file");
    let json = json::parse(&text).unwrap_or_else(|why| panic!("{}: {why}", file.display()));
    let vector = |json: &Json| Vector {
        name: text_of(member(json, "name").expect("a name")).to_string(),
        kind: text_of(member(json, "kind").expect("a kind")).to_string(),
        json: json.clone(),
    };
    items(&json).iter().map(vector).collect()
}

pub fn member<'a>(json: &'a Json, name: &str) -> Option<&'a Json> {
    json.get(name)
}

pub fn items(json: &Json) -> &[Json] {
    match json {
        Json::Array(items) => items,
        other => panic!("{other} is not an array"),
    }
}

pub fn text_of(json: &Json) -> &str {
    match json {
        Json::String(text) => text,
        other => panic!("{other} is not a string"),
    }
}

/// A number, or a string of digits.
pub fn number_of(json: &Json) -> u64 {
    match json {
        Json::String(text) => text.parse().expect("a number"),
        other => other.as_u64().expect("a number"),
    }
}

fn hex_line(line: &str) -> Vec<u8> {
    let digits: Vec<u8> = line
        .split(';')
        .next()
        .unwrap_or("")
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| c.to_digit(16).expect("a hex digit") as u8)
        .collect();
    assert!(digits.len().is_multiple_of(2), "half a byte: {line}");
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

impl Vector {
    pub fn member(&self, name: &str) -> Option<&Json> {
        member(&self.json, name)
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.member(name).map(text_of)
    }

    /// Empty for a vector that has none.
    pub fn bytes(&self) -> Vec<u8> {
        match self.member("bytes") {
            None => Vec::new(),
            Some(Json::String(line)) => hex_line(line),
            Some(lines) => items(lines)
                .iter()
                .flat_map(|line| hex_line(text_of(line)))
                .collect(),
        }
    }

    pub fn context(&self, name: &str) -> Option<&Json> {
        self.member("context")
            .and_then(|context| member(context, name))
    }

    pub fn context_number(&self, name: &str) -> Option<u64> {
        self.context(name).map(number_of)
    }

    pub fn context_slots(&self) -> Vec<&str> {
        let slots = self.context("slots").map_or(&[][..], items);
        slots.iter().map(text_of).collect()
    }

    /// The body of a TYPES section with all types that the segment has.
    pub fn context_types(&self) -> Vec<u8> {
        let names = self.context("types").map_or(&[][..], items);
        let good = load("good");
        let bytes = |name| {
            good.iter()
                .find(|other| other.name == name)
                .map(Vector::bytes)
        };
        names
            .iter()
            .flat_map(|name| bytes(text_of(name)).expect("a descriptor vector"))
            .collect()
    }
}
