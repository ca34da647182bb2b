//! The file that a command replaces, where its name leads to something else than a file.

use std::fs;
use std::path::{Path, PathBuf};

/// As many as the kernel follows.
const MOST_LINKS: u32 = 40;

/// Whether the name leads to a device, a pipe or a folder: a file in its place would break what
/// uses it.
pub fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| !there.is_file())
}

/// The name behind symbolic links, which nothing may have yet. A new file with that name leaves the
/// links as they are.
pub fn behind_links(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        let Ok(next) = fs::read_link(&path) else {
            break;
        };
        // An absolute name takes the place of the folder.
        path = path.parent().unwrap_or(Path::new("")).join(next);
    }
    path
}
