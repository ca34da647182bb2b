//! The errors of tokens files and rules files.

use interweave_access::FileError;

/// The error points into the file, and its text is one line.
pub fn check(data: &[u8], error: &FileError) {
    let mut lines = data.split(|&byte| byte == b'\n');
    let line = lines
        .nth(error.line as usize - 1)
        .expect("a line of the file");
    let columns = 1..=line.len() as u32 + 1;
    assert!(columns.contains(&error.column), "{error}");
    assert!(!error.text.contains('\n'), "{error}");
}
