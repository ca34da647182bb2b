//! Comparing what the compiler makes with files kept beside the tests.

// Each test program uses a part of this.
#![allow(dead_code)]

use std::path::{Path, PathBuf};

pub fn tests_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// The files of a directory with an extension, in the order of their names; there must be some.
pub fn files_of(dir: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|found| found == extension));
    files.sort();
    assert!(
        !files.is_empty(),
        "no .{extension} files in {}",
        dir.display()
    );
    files
}

/// Collects differences, so that one run shows all of them.
pub struct Expected {
    update: bool,
    differences: Vec<String>,
}

impl Expected {
    pub fn new() -> Self {
        Expected {
            update: std::env::var_os("IW_UPDATE_GOLDEN").is_some(),
            differences: Vec::new(),
        }
    }

    pub fn compare(&mut self, path: &Path, text: &str) {
        if self.update {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            return std::fs::write(path, text).unwrap();
        }
        let kept = std::fs::read_to_string(path).unwrap_or_default();
        if kept != text {
            let path = path.display();
            self.differences
                .push(format!("--- {path}\n{kept}\n--- made now\n{text}"));
        }
    }

    pub fn finish(self) {
        let count = self.differences.len();
        assert!(
            count == 0,
            "{count} files differ:\n{}",
            self.differences.join("\n")
        );
    }
}
