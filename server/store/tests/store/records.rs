//! Reads log files as spec/format/server-log.md says, with nothing of the store's own code.

use std::path::{Path, PathBuf};

/// A record's place in its file.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    pub start: usize,
    pub header: usize,
    pub body: usize,
    pub end: usize,
    /// Of the padding.
    pub next: usize,
    /// It ends its group.
    pub last: bool,
}

pub fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// How many bytes the head of a log file takes.
pub fn head_bytes(file: &[u8]) -> usize {
    match file[3] {
        b'2' => 32,
        _ => (32 + word(file, 28) as usize + 4).next_multiple_of(8),
    }
}

/// The records of a log file that is whole.
pub fn spans(bytes: &[u8]) -> Vec<Span> {
    let mark = word(bytes, 4);
    let mut spans = Vec::new();
    let mut start = head_bytes(bytes);
    while start + 24 <= bytes.len() && word(bytes, start) == mark {
        let length = word(bytes, start + 4) as usize;
        let header_bytes = word(bytes, start + 8);
        let end = start + 24 + length;
        let span = Span {
            start,
            header: start + 24,
            body: start + 24 + (header_bytes & 0x3fff_ffff) as usize,
            end,
            next: end.next_multiple_of(8),
            last: header_bytes >> 31 == 0,
        };
        spans.push(span);
        start = span.next;
    }
    spans
}

/// The log files, oldest first.
pub fn logs(dir: &Path) -> Vec<PathBuf> {
    files(dir, ".iwl")
}

pub fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_str().unwrap().ends_with(ending))
        .collect();
    paths.sort();
    paths
}

pub fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}
